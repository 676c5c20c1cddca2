import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type PasswordPolicy, requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import type { Reset, ResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import { fold, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { AttemptCode } from '../one-time-codes/attempt-code.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'
import { resetRefused } from './confirm-code.ts'

export interface SetPasswordDependencies {
  attemptCode: AttemptCode
  transaction: Database['transaction']
  users: Pick<UserRepository, 'findById'>
  usersIn: (transaction: Queryable) => UserRepository
  resets: Pick<ResetRepository, 'find' | 'countNewPassword'>
  resetsIn: (transaction: Queryable) => Pick<ResetRepository, 'use'>
  notify: SendNotice
  secrets: Pick<CodeSecrets, 'isHashOf'>
  passwords: Pick<PasswordHasher, 'hash'>
  policy: PasswordPolicy
  /** Number of codes that may be tried; they are counted together with the new passwords. */
  attempts: number
  sharedNow: Clock
}

export interface NewPassword {
  email: string
  token: string
  password: string
}

/**
 * How many new passwords may be hashed beyond the attempts, which a code may have used up. One is enough: the others are
 * for calls that fail after the hash.
 */
const HASHES_BEYOND_ATTEMPTS = 5

const TOKEN_REFUSED = { code: 'reset_refused', name: 'reset.refused', reason: 'token' } as const

/**
 * Sets the password of a confirmed reset, once, and ends every token issued so far; returns the reset's token. Throws
 * `reset_refused`, or `password_refused` with `violations`, after which the reset stays usable, or `rate_limited`.
 */
export function createSetPassword(dependencies: SetPasswordDependencies) {
  const {
    attemptCode,
    transaction,
    users,
    usersIn,
    resets,
    resetsIn,
    notify,
    secrets,
    passwords,
    policy,
    attempts,
    sharedNow,
  } = dependencies

  /** Returns the reset that may set a password. Refuses what it can before the password is hashed, which is expensive. */
  async function getUsable(email: string, token: string): Promise<Reset> {
    const [reset] = await resets.find(email)
    if (!reset) throw resetRefused()
    // All are computed: a decoy, which is never confirmed, takes the same work. The user is read for confirmed resets only.
    const checks = [
      secrets.isHashOf(reset.tokenHash, reset.id, token),
      reset.confirmedAt !== undefined,
      reset.usedAt === undefined,
      reset.expiresAt.getTime() > sharedNow(),
    ]
    if (checks.includes(false)) throw resetRefused()
    if (!belongsTo(reset, await users.findById(reset.userid))) throw resetRefused()
    return reset
  }

  /** The database counts before the password is hashed, so that concurrent calls cannot exceed the maximum. */
  async function hashCounted(reset: Reset, password: string, address: string): Promise<string> {
    if (!(await resets.countNewPassword(reset.id, attempts + HASHES_BEYOND_ATTEMPTS, new Date(sharedNow()))))
      throw resetRefused()
    // The token of a confirmed reset came from the owner's mailbox.
    return passwords.hash(password, { address, trust: 'known' })
  }

  /** Returns the user whose reset it is. */
  async function useReset(db: Queryable, reset: Reset, now: Date): Promise<User> {
    // Always the user's row first: two resets of one user then wait for each other instead of deadlocking.
    const user = await usersIn(db).lockAndFind(reset.userid)
    if (!belongsTo(reset, user) || !(await resetsIn(db).use(reset.id, now))) throw resetRefused()
    return user
  }

  async function setPassword(
    { email, token, password }: NewPassword,
    audit: Pick<RequestAudit, 'write' | 'address'>,
  ): Promise<string> {
    const reset = await getUsable(email, token)
    const { userid } = reset
    requirePolicy(password, policy)
    const passwordHash = await hashCounted(reset, password, audit.address)
    await transaction(async (db) => {
      const now = sharedNow()
      const user = await useReset(db, reset, new Date(now))
      const users = usersIn(db)
      await Promise.all([
        users.setPassword(userid, passwordHash),
        revokeUserTokens(users, user, now),
        endCodes(db, userid, new Date(now)),
        audit.write(db, { name: 'password.reset', userid }),
        notify(db, user, { template: 'password-changed' }, audit.address),
      ])
    })
    return token
  }

  return (given: NewPassword, client: Client): Promise<string> =>
    attemptCode(client, given.email, TOKEN_REFUSED, () => setPassword(given, client.audit))
}

/** Whether a reset belongs to the user's present mailbox: a change of e-mail ends it. */
const belongsTo = (reset: Reset, user: User | undefined): user is User =>
  user !== undefined && !user.deletedAt && fold(user.email ?? '') === reset.email
