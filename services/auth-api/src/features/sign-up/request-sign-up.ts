import type { Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { accountOf } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { makeUsername } from '@latchkey/shared/users/account-names.ts'
import { isOfDomain } from '@latchkey/shared/users/email-address.ts'
import type { Language, User } from '@latchkey/shared/users/user.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { roundUpDuration } from '../../limits/round-up-duration.ts'
import { issueCode, lifetimeOf } from '../one-time-codes/issue-code.ts'
import { tellOwner } from '../one-time-codes/tell-owner.ts'
import { createSignUpRepository } from './sign-up-repository.ts'

type RequestSignUpCore = Pick<
  Core,
  'limitSignUps' | 'transaction' | 'usersIn' | 'mails' | 'mailLink' | 'codeSecrets' | 'hashFor' | 'sharedNow'
>

export interface SignUpRequest {
  name?: string | undefined
  email: string
  /** Absent where the user has chosen none. */
  username?: string | undefined
  password: string
  language?: Language | undefined
}

/**
 * Begins a sign-up and accepts its mail; returns the sign-up's token. An e-mail that a user has causes the same work and
 * the same rows: its owner gets a mail that says so, and no code confirms the sign-up. Whether the username is taken shows
 * once the code is confirmed. Throws `password_refused` with `violations`, `signup_refused` for a domain that may not
 * sign up, and `rate_limited`.
 */
export function createRequestSignUp(
  core: RequestSignUpCore,
  { policy, signUp: { domains }, reset: { ttlSeconds } }: Pick<Config, 'policy' | 'signUp' | 'reset'>,
) {
  const { limitSignUps, transaction, usersIn, mails, mailLink, hashFor, sharedNow } = core
  const secrets = core.codeSecrets.signup

  async function store(signUp: SignUpRequest, passwordHash: string): Promise<string> {
    const now = new Date(sharedNow())
    const token = secrets.generateToken()
    const { name, email, username = makeUsername(), language = 'en' } = signUp
    await transaction(async (db) => {
      const owner = await usersIn(db).findByLogin('email', email)
      const { code, stored } = issueCode(secrets, { isDecoy: owner !== undefined, now, ttlSeconds })
      const tokenHash = secrets.hash(stored.id, token)
      await Promise.all([
        createSignUpRepository(db).insert(
          { ...stored, name, email, username, language, passwordHash, tokenHash },
          now,
        ),
        acceptMail(db, { email, language }, owner, { ...stored, code }),
      ])
    })
    return token
  }

  function acceptMail(
    db: Transaction,
    { email, language }: { email: string; language: Language },
    owner: User | undefined,
    { id, code, expiresAt }: { id: string; code: string; expiresAt: Date },
  ): Promise<string> {
    if (owner) {
      const template = owner.deletedAt ? 'sign-up-deleted' : 'sign-up-taken'
      return tellOwner(mails, db, owner, { template, expiresAt })
    }
    // The mail does not contain the name: a stranger chose it, and the address may be somebody else's.
    const link = mailLink('signup', { email, code, token: id })
    const variables = { code, link, ...lifetimeOf(ttlSeconds), ...accountOf({ name: null, email }) }
    return mails.accept(db, { template: 'sign-up', to: email, language, variables, expiresAt })
  }

  return async (signUp: SignUpRequest, client: Client): Promise<string> => {
    // Cheap checks come before anything is counted or hashed.
    if (!isOfDomain(signUp.email, domains)) throw domainRefused()
    requirePolicy(signUp.password, policy)
    await limitSignUps(client, signUp.email)
    const passwordHash = await hashFor(client, 'other')(signUp.password)
    const token = await roundUpDuration(() => store(signUp, passwordHash))
    client.audit.report({ name: 'signup.requested' })
    return token
  }
}

/** Says nothing about an e-mail but its domain. */
const domainRefused = () =>
  new AppError('signup_refused', 'Sign-up is not open to e-mail addresses of this domain', {
    reason: 'domain_refused',
  })
