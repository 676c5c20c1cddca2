import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { hasPassword, type User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Config } from '../../config.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { LimitLogin } from '../../limits/login-limiter.ts'
import type { Claims, Session } from '../../tokens/claims.ts'
import { currentAmr } from '../../tokens/current-amr.ts'
import type { RequireLogin } from '../../tokens/require-login.ts'
import type { GetTokenUser, LockUser } from '../../tokens/token-validity.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'

/**
 * Every change of what guards an account, and what its user must show before it begins. Of a user with a second factor each needs
 * a login with it in the last five minutes; `password` needs the current password too. Where the user has neither a password nor a
 * factor, a login of the last five minutes takes the place of the password.
 */
export const CHANGES = {
  addFactor: 'password',
  changePassword: 'password',
  confirmNewEmail: 'password',
  deleteAccount: 'password',
  stepUp: 'password',
  setEmail: 'factor',
  renameFactor: 'factor',
  removeFactor: 'factor',
  renewRecoveryCodes: 'factor',
} as const satisfies Record<string, 'password' | 'factor'>

export type Change = keyof typeof CHANGES

/** What a user has shown to begin a change. */
export interface Proof {
  change: Change
  user: User
  /** What guarded the account then, as `allow` reads it. A change that is completed later stores it. */
  begunUnder: string
  /** The login that the next token of the user has: what was shown, and when. */
  login: Pick<Session, 'authTime' | 'amr'>
}

declare const GUARDED: unique symbol

/** A user whose row is locked, and whose guards a change may now touch. Only the guard makes one. */
export type GuardedUser = User & { readonly [GUARDED]: true }

/** The users for code that the guard has not let through: without the writes that change what guards an account. */
export type UnguardedUsers = Omit<UserRepository, 'setPassword' | 'setEmail' | 'softDelete'>

/** The age up to which a login counts for a change. */
const MAX_AGE_SECONDS = 300

export interface AccountGuardDependencies {
  db: Pick<Database, 'transaction'> & Queryable
  passwords: Pick<PasswordHasher, 'verify'>
  limitLogin: LimitLogin
  codeSecrets: { guard: Pick<CodeSecrets, 'hash' | 'isHashOf'> }
  requireLogin: RequireLogin
  getTokenUser: GetTokenUser
  lockUser: LockUser
  localNow: Clock
}

export type AccountGuard = ReturnType<typeof createAccountGuard>

/**
 * Creates the functions that decide whether a user may change what guards the account: `begin` by what the user shows, `allow`,
 * on the locked row, by what has changed since. No password is verified while a row is locked, and none is asked for twice.
 */
export function createAccountGuard(
  { secondFactor: { mode }, login: { field } }: Pick<Config, 'secondFactor' | 'login'>,
  dependencies: AccountGuardDependencies,
) {
  const { db, passwords, limitLogin, codeSecrets } = dependencies
  const secrets = codeSecrets.guard
  const { requireLogin, getTokenUser, lockUser, localNow } = dependencies

  const hasFactor = (user: User): boolean => mode === 'on' && factorKindsOf(user).length > 0

  async function findFactors(queryable: Queryable, user: User): Promise<string[]> {
    if (!hasFactor(user)) return []
    const found = await createFactorRepository(queryable).find(user.userid)
    // Of random ids, eight digits tell the few factors of a user apart.
    return found.filter(({ confirmedAt }) => confirmedAt).map(({ id }) => id.slice(0, 8))
  }

  /** Describes what guards an account: its password, by a keyed hash of the stored one, and its factors. */
  const describe = async (user: User): Promise<string> =>
    [secrets.hash(user.userid, user.passwordHash), ...(await findFactors(db, user))].join(' ')

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
  async function begin(
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
    else if (needsPassword && !hasFactor(user)) requireLogin(claims, { maxAgeSeconds: MAX_AGE_SECONDS })
    // The time of a login moves only together with all that it says: a password makes no factor fresh.
    const isShownNow = needsPassword && hasPassword(user) && !hasFactor(user)
    const login = isShownNow ? { authTime: shownAt, amr: undefined } : before
    return { change: begun, user, begunUnder, login }
  }

  /**
   * Allows a change of a locked user that was begun under `begunUnder`. Throws what `refuse` creates when the password is another
   * one or a factor was added since, and `insufficient_user_authentication` for a token that was won without the user's factors.
   * Without `claims` the caller has another proof: a factor that answers a challenge.
   */
  async function allow(
    transaction: Queryable,
    user: User,
    {
      begunUnder = '',
      claims,
      refuse,
    }: { begunUnder?: string | undefined; claims?: Claims | undefined; refuse: () => AppError },
  ): Promise<GuardedUser> {
    const [hash = '', ...factors] = begunUnder.split(' ')
    if (hash === '' || !secrets.isHashOf(hash, user.userid, user.passwordHash)) throw refuse()
    if ((await findFactors(transaction, user)).some((factor) => !factors.includes(factor))) throw refuse()
    if (claims && hasFactor(user)) requireLogin(claims, { secondFactor: true })
    return user as GuardedUser
  }

  /** Locks the user of a token for a change that was begun in this request. */
  const lock = async (
    transaction: Queryable,
    { claims }: Pick<LoggedInClient, 'claims'>,
    { begunUnder }: Proof,
  ): Promise<GuardedUser> =>
    allow(transaction, await lockUser(transaction, claims), { begunUnder, claims, refuse: guardChanged })

  return {
    hasFactor,
    describe,
    begin,
    allow,
    lock,

    /** Runs a change of one step, in a transaction that has locked the user. Throws what `begin` and `allow` throw. */
    async change<Result>(
      change: Change,
      client: LoggedInClient,
      currentPassword: string | undefined,
      work: (transaction: Transaction, user: GuardedUser, proof: Proof) => Promise<Result>,
    ): Promise<Result> {
      const proof = await begin(change, client, currentPassword)
      return db.transaction(async (transaction) =>
        work(transaction, await lock(transaction, client, proof), proof),
      )
    },

    /** The users with every write, for a change of `_user`. */
    usersFor: (transaction: Queryable, _user: GuardedUser): UserRepository =>
      createUserRepository(transaction),
  }
}

/** As the schema of a body says it: only a user without a password may leave it out. */
const missingPassword = () =>
  new AppError('invalid_input', 'The body is not valid', {
    details: { errors: [{ path: 'current_password', message: 'is required' }] },
  })

export const guardChanged = () =>
  new AppError(
    'insufficient_user_authentication',
    'The password or a second factor has changed since the request began',
    { reason: 'guard_changed' },
  )
