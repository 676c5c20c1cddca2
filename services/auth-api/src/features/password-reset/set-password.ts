import type { Queryable } from '@latchkey/shared/database/database.ts'
import { requirePolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { confirmEmail } from '@latchkey/shared/users/account-state.ts'
import { endCodes } from '@latchkey/shared/users/end-codes.ts'
import { createResetRepository, type Reset } from '@latchkey/shared/users/reset-repository.ts'
import { fold, type User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { resetRefused } from './confirm-code.ts'

type SetPasswordCore = Pick<
  Core,
  'limitCodes' | 'db' | 'transaction' | 'users' | 'notify' | 'codeSecrets' | 'hashFor' | 'sharedNow'
>

export interface NewPassword {
  email: string
  token: string
  password: string
}

/**
 * The number of new passwords hashed beyond the attempts, which a code may have used up. One is enough: the others are
 * for calls that fail after the hash.
 */
const HASHES_BEYOND_ATTEMPTS = 5

const TOKEN_REFUSED = { code: 'reset_refused', name: 'reset.refused', reason: 'token' } as const

/**
 * Sets the password of a confirmed reset, once, and ends every token issued so far; returns the reset's token. Throws
 * `reset_refused`, or `password_refused` with `violations`, after which the reset stays usable, or `rate_limited`.
 */
export function createSetPassword(
  core: SetPasswordCore,
  { policy, reset: { attempts } }: Pick<Config, 'policy' | 'reset'>,
) {
  const { hashFor, sharedNow } = core
  // The codes that may be tried are counted together with the new passwords.
  const maxHashes = attempts + HASHES_BEYOND_ATTEMPTS

  async function setPassword({ email, token, password }: NewPassword, client: Client): Promise<string> {
    const reset = await getUsable(core, email, token)
    requirePolicy(password, policy)
    // The database counts before the password is hashed, so that concurrent calls cannot exceed the maximum.
    const isCounted = await createResetRepository(core.db).countNewPassword(
      reset.id,
      maxHashes,
      new Date(sharedNow()),
    )
    if (!isCounted) throw resetRefused()
    // The token of a confirmed reset came from the owner's mailbox.
    const passwordHash = await hashFor(client, 'known')(password)
    await store(core, reset, passwordHash, client)
    return token
  }

  return (given: NewPassword, client: Client): Promise<string> =>
    guardCodeAttempt(core, client, { account: given.email, ...TOKEN_REFUSED }, () =>
      setPassword(given, client),
    )
}

/** Returns the reset that may set a password. Refuses what it can before the password is hashed, which is expensive. */
async function getUsable(
  { db, users, codeSecrets, sharedNow }: SetPasswordCore,
  email: string,
  token: string,
): Promise<Reset> {
  const [reset] = await createResetRepository(db).find(email)
  if (!reset) throw resetRefused()
  // All are computed: a decoy, which is never confirmed, takes the same work. The user is read for confirmed resets only.
  const checks = [
    codeSecrets.reset.isHashOf(reset.tokenHash, reset.id, token),
    reset.confirmedAt !== undefined,
    reset.usedAt === undefined,
    reset.expiresAt.getTime() > sharedNow(),
  ]
  if (checks.includes(false)) throw resetRefused()
  if (!belongsTo(reset, await users.findById(reset.userid))) throw resetRefused()
  return reset
}

const store = (
  { transaction, notify, sharedNow }: SetPasswordCore,
  reset: Reset,
  passwordHash: string,
  { audit }: Client,
): Promise<void> =>
  transaction(async (db) => {
    const { userid } = reset
    const now = sharedNow()
    const user = await useReset(db, reset, new Date(now))
    // The token of a reset takes the place of the account guard.
    const users = createUserRepository(db)
    await Promise.all([
      users.setPassword(userid, passwordHash),
      confirmEmail(users, user, passwordHash),
      revokeUserTokens(users, user, now),
      endCodes(db, userid, new Date(now)),
      audit.write(db, { name: 'password.reset', userid }),
      notify(db, user, { template: 'password-changed' }, audit.address),
    ])
  })

/** Returns the user whose reset it is. */
async function useReset(db: Queryable, reset: Reset, now: Date): Promise<User> {
  // Always the user's row first: two resets of one user then wait for each other instead of deadlocking.
  const user = await createUserRepository(db).lockAndFind(reset.userid)
  if (!belongsTo(reset, user) || !(await createResetRepository(db).use(reset.id, now))) throw resetRefused()
  return user
}

/** True where a reset belongs to the user's present mailbox: a change of e-mail ends it. */
const belongsTo = (reset: Reset, user: User | undefined): user is User =>
  user !== undefined && !user.deletedAt && fold(user.email ?? '') === reset.email
