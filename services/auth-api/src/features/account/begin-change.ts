import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { hasPassword, type User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { Config } from '../../config.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { LimitLogin } from '../../limits/login-limiter.ts'
import type { LoginSession } from '../../tokens/claims.ts'
import { currentAmr } from '../../tokens/current-amr.ts'
import type { RequireLogin } from '../../tokens/require-login.ts'
import type { GetTokenUser } from '../../tokens/token-validity.ts'
import type { GuardDescription } from './guard-description.ts'

/**
 * Every change of what guards an account, and what its user must show before it begins. Of a user with a second factor each needs
 * a login with it in the last five minutes; `password` needs the current password too. Where the user has neither a password nor a
 * factor, a login of the last five minutes takes the place of the password. `login` needs such a login of every user.
 */
export const CHANGES = {
  addFactor: 'password',
  changePassword: 'password',
  confirmNewEmail: 'password',
  deleteAccount: 'password',
  stepUp: 'password',
  setUsername: 'password',
  setEmail: 'factor',
  renameFactor: 'factor',
  removeFactor: 'factor',
  renewRecoveryCodes: 'factor',
  addIdentity: 'login',
  removeIdentity: 'login',
} as const satisfies Record<string, 'password' | 'factor' | 'login'>

export type Change = keyof typeof CHANGES

/** The proof that a user has shown to begin a change. */
export interface Proof {
  change: Change
  user: User
  /** The guard of the account then, as `allow` reads it. A change that is completed later stores it. */
  begunUnder: string
  /** The login that the next token of the user has: what was shown, and when. */
  login: Pick<LoginSession, 'authTime' | 'amr'>
}

/** The age up to which a login counts for a change. */
const MAX_AGE_SECONDS = 300

export interface BeginChangeDependencies extends Pick<GuardDescription, 'hasFactor' | 'describe'> {
  db: Queryable
  passwords: Pick<PasswordHasher, 'verify'>
  limitLogin: LimitLogin
  requireLogin: RequireLogin
  getTokenUser: GetTokenUser
  localNow: Clock
}

/** Creates the function that begins a change of what guards an account, by what its user shows. */
export function createBeginChange({ field }: Config['login'], dependencies: BeginChangeDependencies) {
  const { db, passwords, limitLogin, requireLogin, getTokenUser } = dependencies
  const { hasFactor, describe, localNow } = dependencies

  async function verifyPassword(
    user: User,
    password: string | undefined,
    client: LoggedInClient,
  ): Promise<void> {
    if (password === undefined) throw missingPassword()
    // The account is what a login of this user contains: guesses here and there are counted together.
    await limitLogin(client, user[field] ?? user.userid, async (hashClient) => {
      const { matches } = await passwords.verify(password, user.passwordHash, hashClient)
      if (matches) return
      client.audit.report({ name: 'current_password.refused', userid: user.userid })
      throw new AppError('wrong_password', 'The current password is wrong')
    })
  }

  /**
   * Requires what the change needs. Throws `invalid_token`, `insufficient_user_authentication`, `wrong_password`, which counts as
   * a failed login of the account and of the client's address, and `rate_limited` after too many of them.
   */
  return async function beginChange(
    change: Change | ((user: User) => Change),
    client: LoggedInClient,
    currentPassword?: string,
  ): Promise<Proof> {
    const { claims } = client
    const shownAt = toNumericDate(localNow())
    const user = await getTokenUser(db, claims)
    // This comes before the password, so that a stolen token tells nothing about it.
    if (hasFactor(user)) requireLogin(claims, { secondFactor: true, maxAgeSeconds: MAX_AGE_SECONDS })
    const begunUnder = await describe(user)
    const before = { authTime: claims.auth_time, amr: currentAmr(claims.amr, factorKindsOf(user).length > 0) }
    const begun = typeof change === 'string' ? change : change(user)
    const needsPassword = CHANGES[begun] === 'password'
    if (needsPassword && hasPassword(user)) await verifyPassword(user, currentPassword, client)
    else if (CHANGES[begun] !== 'factor' && !hasFactor(user))
      requireLogin(claims, { maxAgeSeconds: MAX_AGE_SECONDS })
    // The time of a login moves only together with all that it says: a password makes no factor fresh.
    const isShownNow = needsPassword && hasPassword(user) && !hasFactor(user)
    const login = isShownNow ? { authTime: shownAt, amr: undefined } : before
    return { change: begun, user, begunUnder, login }
  }
}

/** Creates the error that a schema gives for a missing member: only a user without a password may leave this one out. */
const missingPassword = () =>
  new AppError('invalid_input', 'The body is not valid', {
    details: { errors: [{ path: 'current_password', message: 'is required' }] },
  })
