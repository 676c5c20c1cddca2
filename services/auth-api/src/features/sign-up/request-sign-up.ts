import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import type { Mails } from '@latchkey/shared/mail-outbox/accept-mail.ts'
import { accountOf } from '@latchkey/shared/mail-outbox/mail-notices.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
import type { Language, User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { CodeSecrets } from '../../one-time-codes/code-secrets.ts'
import { endOnQuantum } from '../../one-time-codes/end-on-quantum.ts'
import { issueCode, lifetimeOf } from '../../one-time-codes/issue-code.ts'
import { tellOwner } from '../../one-time-codes/tell-owner.ts'
import { domainRefused } from './sign-up-refused.ts'
import type { SignUpRepository } from './sign-up-repository.ts'

export interface RequestSignUpDependencies {
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'findByLogin'>
  signUpsOf: (transaction: Queryable) => Pick<SignUpRepository, 'insert'>
  mails: Mails
  secrets: Pick<CodeSecrets, 'newToken' | 'newCode' | 'hash' | 'hashOfNothing'>
  passwords: Pick<PasswordHasher, 'hash'>
  policy: PasswordPolicy
  /** The domains whose e-mails may sign up; any domain if there is none. */
  domains: readonly string[]
  ttlSeconds: number
  clock: Clock
}

export interface SignUp {
  name?: string | undefined
  email: string
  username: string
  password: string
  language?: Language | undefined
}

/** The client of one request. */
export interface SignUpClient extends HashClient {
  /** Counts the mail that the request causes; throws `rate_limited` beyond the limit. */
  limit: (email: string) => Promise<void>
}

export type RequestSignUp = ReturnType<typeof createRequestSignUp>

/**
 * Begins a sign-up and accepts its mail; returns the sign-up's token. An e-mail that a user has causes the same work and
 * the same rows: its owner gets a mail that says so, and no code confirms the sign-up. Whether the username is taken shows
 * once the code is confirmed. Throws `password_refused` with `violations`, and `signup_refused` for a domain that may not
 * sign up.
 */
export function createRequestSignUp(dependencies: RequestSignUpDependencies) {
  const { transaction, usersOf, signUpsOf, secrets, passwords, policy, domains, ttlSeconds, clock } =
    dependencies

  async function store(signUp: SignUp, passwordHash: string): Promise<string> {
    const now = new Date(clock())
    const token = secrets.newToken()
    const { name, email, username, language = 'en' } = signUp
    await transaction(async (db) => {
      const owner = await usersOf(db).findByLogin('email', email)
      const { code, stored } = issueCode(secrets, { isDecoy: owner !== undefined, now, ttlSeconds })
      await signUpsOf(db).insert(
        {
          ...stored,
          name,
          email,
          username,
          language,
          passwordHash,
          tokenHash: secrets.hash(stored.id, token),
        },
        now,
      )
      await acceptMail(db, { email, language }, owner, { code, expiresAt: stored.expiresAt })
    })
    return token
  }

  function acceptMail(
    db: Transaction,
    { email, language }: { email: string; language: Language },
    owner: User | undefined,
    { code, expiresAt }: { code: string; expiresAt: Date },
  ): Promise<string> {
    const { mails } = dependencies
    if (owner) return tellOwner(mails, db, owner, { template: 'sign-up-taken', expiresAt })
    // Without the name: a stranger chose it, and the address may be somebody else's.
    const variables = { code, ...lifetimeOf(ttlSeconds), ...accountOf({ name: null, email }) }
    return mails.accept(db, { template: 'sign-up', to: email, language, variables, expiresAt })
  }

  return async (
    signUp: SignUp,
    client: SignUpClient,
    audit: Pick<RequestAudit, 'report'>,
  ): Promise<string> => {
    // What depends on the request alone, and is cheap, is refused before anything is counted or hashed.
    if (!isAllowed(signUp.email, domains)) throw domainRefused()
    requirePolicy(signUp.password, policy)
    await client.limit(signUp.email)
    const passwordHash = await passwords.hash(signUp.password, client)
    const token = await endOnQuantum(() => store(signUp, passwordHash))
    audit.report({ name: 'signup.requested' })
    return token
  }
}

const isAllowed = (email: string, domains: readonly string[]): boolean =>
  domains.length === 0 ||
  domains.some((domain) => fold(email.slice(email.lastIndexOf('@') + 1)) === fold(domain))
