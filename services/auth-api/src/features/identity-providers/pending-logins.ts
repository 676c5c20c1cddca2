import { hash, hkdfSync, randomUUID } from 'node:crypto'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createTextSealer } from '@latchkey/shared/secrets/sealed-text.ts'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { secretsOf } from '../../tokens/signing-keys.ts'
import { createLoginRepository, type PendingLogin } from './login-repository.ts'

/** The time in which the page of a login exchanges its code. */
const CODE_SECONDS = 60

/** What is stored of a login between two requests, sealed. */
const LoginContent = z.object({
  provider: z.string(),
  identity: z.object({
    subject: z.string(),
    email: z.string().optional(),
    isEmailVerified: z.boolean(),
    name: z.string().optional(),
    hasSecondFactor: z.boolean(),
  }),
  /** Present in a code: only the page with its verifier exchanges it. */
  codeChallenge: z.string().optional(),
  /** The address to which a code was mailed. */
  mailedTo: z.string().optional(),
})

/** A person at a provider, and how far a login has come. */
export type LoginContent = z.output<typeof LoginContent>

/** A login whose ticket or code was read. */
export interface ReadLogin extends LoginContent {
  stored: PendingLogin
}

export type PendingLogins = ReturnType<typeof createPendingLogins>

/** Creates the functions that issue and read the codes and tickets of logins with a provider. Only their hashes are stored. */
export function createPendingLogins(
  { db, codeSecrets, sharedNow }: Pick<Core, 'db' | 'codeSecrets' | 'sharedNow'>,
  { tokens, reset: { ttlSeconds } }: Pick<Config, 'tokens' | 'reset'>,
) {
  const secrets = codeSecrets.identity
  const [key = new Uint8Array(), previousKey] = secretsOf(tokens).map(
    (secret) => new Uint8Array(hkdfSync('sha256', secret, '', 'latchkey provider login content', 32)),
  )
  const sealer = createTextSealer('JWT_SECRET', key, previousKey)

  async function issue(content: LoginContent, seconds: number): Promise<string> {
    const [id, token, now] = [randomUUID(), secrets.generateToken(), sharedNow()]
    const stored = {
      id,
      tokenHash: secrets.hash(id, token),
      codeHash: secrets.unmatchableHash(),
      content: await sealer.seal(JSON.stringify(content)),
      expiresAt: new Date(now + seconds * 1000),
    }
    await createLoginRepository(db).insert(stored, new Date(now))
    return `${id}.${token}`
  }

  async function read(handle: string): Promise<ReadLogin> {
    const [id = '', token = ''] = handle.split('.', 2)
    const [stored] = z.guid().safeParse(id).success ? await createLoginRepository(db).find(id) : []
    if (
      !stored ||
      stored.expiresAt.getTime() <= sharedNow() ||
      !secrets.isHashOf(stored.tokenHash, stored.id, token)
    )
      throw exchangeRefused()
    const text = await sealer.open(stored.content).catch(() => '{}')
    const { data } = LoginContent.safeParse(JSON.parse(text))
    if (!data) throw exchangeRefused()
    return { ...data, stored }
  }

  return {
    secrets,
    sealer,
    /** Issues the code of a login, for the page that began it. */
    issueCode: (content: LoginContent & { codeChallenge: string }): Promise<string> =>
      issue(content, CODE_SECONDS),

    /** Issues the ticket of a login that lacks something. */
    issueTicket: ({ provider, identity }: LoginContent): Promise<string> =>
      issue({ provider, identity }, ttlSeconds),

    /** Reads a ticket, which stays usable. Throws `exchange_refused`. */
    async readTicket(ticket: string): Promise<ReadLogin> {
      const login = await read(ticket)
      if (login.codeChallenge !== undefined) throw exchangeRefused()
      return login
    },

    /** Uses the code of a login. Throws `exchange_refused`, also where the verifier is not that of the login. */
    async useCode(queryable: Queryable, code: string, verifier: string): Promise<LoginContent> {
      const { stored, codeChallenge, ...login } = await read(code)
      await this.use(queryable, stored.id)
      if (codeChallenge !== hash('sha256', verifier, 'base64url')) throw exchangeRefused()
      return login
    },

    /** Uses a ticket. Throws `exchange_refused`. */
    async useTicket(queryable: Queryable, ticket: string): Promise<LoginContent> {
      const { stored, ...login } = await this.readTicket(ticket)
      await this.use(queryable, stored.id)
      return login
    },

    /** Ends a code or a ticket by its use. Throws `exchange_refused` for all but the first. */
    async use(queryable: Queryable, id: string): Promise<void> {
      if (!(await createLoginRepository(queryable).use(id, new Date(sharedNow())))) throw exchangeRefused()
    },
  }
}

/** Creates the one error for every fault of a code or a ticket: the reason would only help an attacker. */
export const exchangeRefused = () => new AppError('exchange_refused', 'Invalid or expired code or ticket')
