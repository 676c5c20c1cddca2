import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Mails } from '@latchkey/shared/mail/outbox/accept-mail.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { fold, type Language, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Client } from '../../http/client.ts'
import type { LimitMail } from '../../limits/mail-limiter.ts'
import { roundUpDuration } from '../../limits/round-up-duration.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'
import { issueCode, lifetimeOf } from '../one-time-codes/issue-code.ts'
import { tellOwner } from '../one-time-codes/tell-owner.ts'
import type { SignUpRepository } from './sign-up-repository.ts'

export interface RequestSignUpDependencies {
  limitSignUps: LimitMail
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'findByLogin'>
  signUpsIn: (transaction: Queryable) => Pick<SignUpRepository, 'insert'>
  mails: Mails
  secrets: Pick<CodeSecrets, 'generateToken' | 'generateCode' | 'hash' | 'hashOfNothing'>
  passwords: Pick<PasswordHasher, 'hash'>
  policy: PasswordPolicy
  /** The domains whose e-mails may sign up; any domain if there is none. */
  domains: readonly string[]
  ttlSeconds: number
  sharedNow: Clock
}

export interface SignUpRequest {
  name?: string | undefined
  email: string
  username: string
  password: string
  language?: Language | undefined
}

/**
 * Begins a sign-up and accepts its mail; returns the sign-up's token. An e-mail that a user has causes the same work and
 * the same rows: its owner gets a mail that says so, and no code confirms the sign-up. Whether the username is taken shows
 * once the code is confirmed. Throws `password_refused` with `violations`, `signup_refused` for a domain that may not
 * sign up, and `rate_limited`.
 */
export function createRequestSignUp(dependencies: RequestSignUpDependencies) {
  const { limitSignUps, transaction, usersIn, signUpsIn, secrets } = dependencies
  const { passwords, policy, domains, ttlSeconds, sharedNow } = dependencies

  async function store(signUp: SignUpRequest, passwordHash: string): Promise<string> {
    const now = new Date(sharedNow())
    const token = secrets.generateToken()
    const { name, email, username, language = 'en' } = signUp
    await transaction(async (db) => {
      const owner = await usersIn(db).findByLogin('email', email)
      const { code, stored } = issueCode(secrets, { isDecoy: owner !== undefined, now, ttlSeconds })
      const tokenHash = secrets.hash(stored.id, token)
      await Promise.all([
        signUpsIn(db).insert({ ...stored, name, email, username, language, passwordHash, tokenHash }, now),
        acceptMail(db, { email, language }, owner, { code, expiresAt: stored.expiresAt }),
      ])
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
    // The mail does not contain the name: a stranger chose it, and the address may be somebody else's.
    const variables = { code, ...lifetimeOf(ttlSeconds), ...accountOf({ name: null, email }) }
    return mails.accept(db, { template: 'sign-up', to: email, language, variables, expiresAt })
  }

  return async (signUp: SignUpRequest, { request, audit }: Client): Promise<string> => {
    // Cheap checks come before anything is counted or hashed.
    if (!isAllowed(signUp.email, domains)) throw domainRefused()
    requirePolicy(signUp.password, policy)
    await limitSignUps(request, signUp.email)
    const client = { address: audit.address, trust: 'other' } as const
    const passwordHash = await passwords.hash(signUp.password, client)
    const token = await roundUpDuration(() => store(signUp, passwordHash))
    audit.report({ name: 'signup.requested' })
    return token
  }
}

const isAllowed = (email: string, domains: readonly string[]): boolean =>
  domains.length === 0 ||
  domains.some((domain) => fold(email.slice(email.lastIndexOf('@') + 1)) === fold(domain))

/** Says nothing about an e-mail but its domain. */
const domainRefused = () =>
  new AppError('signup_refused', 'Sign-up is not open to e-mail addresses of this domain', {
    reason: 'domain_refused',
  })
