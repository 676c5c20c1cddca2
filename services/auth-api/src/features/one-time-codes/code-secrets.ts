import { createHmac, createSecretKey, hkdfSync, randomBytes, randomInt, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../config.ts'
import { type Secrets, secretsOf } from '../../tokens/signing-keys.ts'

export type CodeSecrets = ReturnType<typeof createCodeSecrets>

/** Each purpose has another key: a code for one purpose is not valid for another. */
const PURPOSES = {
  reset: 'latchkey password reset',
  email: 'latchkey email change',
  signup: 'latchkey sign-up',
  identity: 'latchkey provider login',
  login: 'latchkey login by mail',
  guard: 'latchkey account guard',
} as const

export type CodePurpose = keyof typeof PURPOSES

/** Creates the secrets of every purpose. */
export function createAllCodeSecrets({
  tokens,
  secondFactor,
}: Pick<Config, 'tokens' | 'secondFactor'>): Record<CodePurpose, CodeSecrets> {
  const secrets = secretsOf(tokens)
  const { secret, previousSecret } = secondFactor
  // A challenge, which FACTOR_SECRET signs, needs no other secret.
  const guardSecrets: Secrets = secret ? [secret, ...(previousSecret ? [previousSecret] : [])] : secrets
  return {
    reset: createCodeSecrets('reset', secrets),
    email: createCodeSecrets('email', secrets),
    signup: createCodeSecrets('signup', secrets),
    identity: createCodeSecrets('identity', secrets),
    login: createCodeSecrets('login', secrets),
    guard: createCodeSecrets('guard', guardSecrets),
  }
}

/**
 * Creates the tokens and codes of a purpose, and their keyed hashes. The database stores only the hashes. A code has a
 * million values, so an unkeyed hash would be reversed at once; the key is derived from that of the tokens (HKDF, RFC 5869).
 * New hashes use the first of `secrets`; hashes with the others stay valid, so that a rotation ends nothing that is pending.
 */
export function createCodeSecrets(purpose: CodePurpose, [current, ...others]: Secrets) {
  const info = PURPOSES[purpose]
  const hashWithCurrent = createKeyedHash(info, current)
  const hashes = [hashWithCurrent, ...others.map((secret) => createKeyedHash(info, secret))]
  return {
    /** Creates a token of 256 random bits. */
    generateToken: (): string => randomBytes(32).toString('base64url'),
    /** Creates a code of six random digits. */
    generateCode: (): string => String(randomInt(1_000_000)).padStart(6, '0'),
    /** Creates a value that is not the hash of any code. */
    unmatchableHash: (): string => randomBytes(32).toString('hex'),
    hash: hashWithCurrent,
    isHashOf: (stored: string, id: string, value: string): boolean =>
      hashes.some((hash) =>
        // Stryker disable next-line StringLiteral: hexadecimal text has the same bytes in every encoding.
        timingSafeEqual(Buffer.from(stored, 'latin1'), Buffer.from(hash(id, value), 'latin1')),
      ),
  }
}

function createKeyedHash(info: string, secret: Uint8Array) {
  // Stryker disable next-line StringLiteral: the purposes differ by `info`, whatever the salt.
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', info, 32)))
  return (id: string, value: string): string =>
    createHmac('sha256', key).update(`${id}\0${value}`).digest('hex')
}
