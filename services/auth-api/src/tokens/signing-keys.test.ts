import { inspect } from 'node:util'
import { generatePrivateKey, type PrivateKey, parsePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { calculateJwkThumbprint, decodeProtectedHeader, SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import { createTokenSigner } from './issue-token.ts'
import { importSecret, importSigningKeys, secretsOf, type TokenKey } from './signing-keys.ts'
import { createTokenVerifier } from './verify-token.ts'

type TokenSettings = Parameters<typeof importSigningKeys>[0]

const SECRETS = { secret: Buffer.alloc(64, 1), previousSecret: Buffer.alloc(64, 2) }
const [CURRENT, NEXT, PREVIOUS] = [aKey('ed25519'), aKey('es256'), aKey('rs256')]
const KEYS = { key: CURRENT, nextKey: NEXT, previousKey: PREVIOUS }
const FILES = { keyFile: CURRENT, nextKeyFile: NEXT, previousKeyFile: PREVIOUS }

function aKey(kind: Parameters<typeof generatePrivateKey>[0]): PrivateKey {
  const key = parsePrivateKey(generatePrivateKey(kind))
  if (!('key' in key)) throw new Error(key.message)
  return key
}

/** Settings without a key but for what is given; the keys read no other setting. */
const settingsOf = (given: Partial<TokenSettings>) => ({ algorithm: 'EdDSA', ...given }) as TokenSettings

const algorithmsOf = ({ accepted }: { accepted: readonly TokenKey[] }) =>
  accepted.map(({ header }) => header.alg)
const privatePart = ({ key }: PrivateKey) => Buffer.from(String(key.export({ format: 'jwk' }).d), 'base64url')

describe('the keys of tokens', () => {
  it.each([
    { given: SECRETS, algorithm: 'HS512', accepted: ['HS512', 'HS512'] },
    {
      given: { ...SECRETS, ...KEYS },
      algorithm: 'HS512',
      accepted: ['HS512', 'HS512', 'EdDSA', 'ES256', 'RS256'],
    },
    {
      given: { ...SECRETS, ...KEYS },
      algorithm: 'EdDSA',
      accepted: ['EdDSA', 'ES256', 'RS256', 'HS512', 'HS512'],
    },
    { given: FILES, algorithm: 'EdDSA', accepted: ['EdDSA', 'ES256', 'RS256'] },
  ] as const)(
    'begin with the one that signs $algorithm: $accepted',
    async ({ given, algorithm, accepted }) => {
      const keys = await importSigningKeys(settingsOf({ ...given, algorithm }))
      expect(algorithmsOf(keys)).toEqual(accepted)
      expect(keys.current).toBe(keys.accepted[0])
      expect(keys.published.map(({ alg }) => alg)).toEqual(accepted.filter((alg) => alg !== 'HS512'))
    },
  )

  it.each(['HS512', 'EdDSA'] as const)('are missed where none signs %s', async (algorithm) => {
    await expect(importSigningKeys(settingsOf({ algorithm }))).rejects.toThrow(
      `No setting has a key for ${algorithm}`,
    )
  })

  it('are published without what is private, under their thumbprints', async () => {
    const { published } = await importSigningKeys(settingsOf(KEYS))
    for (const [index, { key, algorithm }] of [CURRENT, NEXT, PREVIOUS].entries()) {
      const { d, p, q, dp, dq, qi, ...open } = key.export({ format: 'jwk' })
      const kid = await calculateJwkThumbprint(open)
      expect(published[index]).toEqual({ ...open, kid, alg: algorithm, use: 'sig' })
    }
  })

  it('are not read: a secret or a private key is not extractable, and each has one use', async () => {
    const secret = await importSecret(Buffer.from('a secret of 64 bytes'.padEnd(64)))
    expect(secret.signing).toMatchObject({ extractable: false, usages: ['sign', 'verify'] })
    expect(inspect(secret, { depth: 9, showHidden: true }) + JSON.stringify(secret)).not.toContain(
      'secret of',
    )
    const { accepted } = await importSigningKeys(settingsOf(KEYS))
    for (const { signing, verifying } of accepted) {
      expect(signing).toMatchObject({ type: 'private', extractable: false, usages: ['sign'] })
      expect(verifying).toMatchObject({ type: 'public', extractable: true, usages: ['verify'] })
    }
  })
})

describe.each([
  ['HS512', { secret: SECRETS.secret }],
  ['EdDSA', { key: CURRENT }],
  ['ES256', { key: NEXT }],
  ['RS256', { key: PREVIOUS }],
] as const)('a token signed by %s', (algorithm, given) => {
  const NOW = 2_000
  const { iss, ...claims } = someClaims()
  const open = async () => {
    const { current } = await importSigningKeys(settingsOf({ ...given, algorithm }))
    const others = (await importSigningKeys(settingsOf({ ...SECRETS, ...KEYS }))).accepted
    const keys = [...others.filter(({ header }) => header.alg !== algorithm), current]
    return { current, verifier: createTokenVerifier({ keys, issuer: iss, localNow: () => NOW * 1000 }) }
  }

  it('is verified among other keys, and its header names its key', async () => {
    const { current, verifier } = await open()
    const issue = createTokenSigner({
      key: current,
      issuer: iss,
      lifetimeSeconds: 60,
    })
    const { token } = (await issue(ada(), NOW)).issued
    const kid = current.header.kid ? { kid: current.header.kid } : {}
    expect(decodeProtectedHeader(token)).toEqual({ alg: algorithm, typ: 'JWT', ...kid })
    expect(await verifier.verify(token)).toMatchObject({ sub: claims.sub })
  })

  it.each([{ kid: 'another' }, { typ: 'at+jwt' }, { jku: 'http://127.0.0.1/keys' }])(
    'is refused with %j in its header',
    async (changes) => {
      const { current, verifier } = await open()
      const token = await new SignJWT({ ...claims, iss })
        .setProtectedHeader({ ...current.header, ...changes })
        .sign(current.signing)
      await expect(verifier.verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
    },
  )
})

describe('the secrets of other purposes', () => {
  it.each([
    { algorithm: 'HS512', given: { ...SECRETS, ...KEYS }, first: SECRETS.secret, count: 5 },
    { algorithm: 'EdDSA', given: { ...SECRETS, ...KEYS }, first: privatePart(CURRENT), count: 5 },
    { algorithm: 'ES256', given: { key: NEXT }, first: privatePart(NEXT), count: 1 },
  ] as const)('begin with the key that signs $algorithm', ({ algorithm, given, first, count }) => {
    const secrets = secretsOf(settingsOf({ ...given, algorithm }))
    expect(Buffer.from(secrets[0])).toEqual(first)
    expect(new Set(secrets.map((secret) => Buffer.from(secret).toString('hex'))).size).toBe(count)
  })
})
