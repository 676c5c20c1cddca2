import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { LoginField, UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { LimitLogin } from '../../limits/login-limiter.ts'
import { roundUpRefusal } from '../../limits/round-up-duration.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import type { NotifyNewClient } from './notify-new-client.ts'

export interface LogInDependencies {
  limitLogin: LimitLogin
  users: Pick<UserRepository, 'findByLogin'>
  /** Replaces the stored hash by a new one of the same password, unless it has changed since it was verified. */
  replaceHash: (userid: string, oldHash: string, newHash: string) => Promise<void>
  passwords: Pick<PasswordHasher, 'verify' | 'requireRoom'>
  /** Called where no password can match; `reason` is a predicate of the stored hash. */
  reportUnusableHash: (userid: string, reason: string) => void
  /** Called for every refused login, of which many cause a notice; the user is undefined where the name is unknown. */
  countFailedLogin: (username: string, userid: string | undefined, audit: RequestAudit) => void
  /** Called for every login that succeeds, before its token is issued. */
  notifyNewClient: NotifyNewClient
  /** Throws `second_factor_required` for a user who has one. */
  requireSecondFactor: (user: User, audit: Pick<RequestAudit, 'report'>) => Promise<void>
  issueToken: IssueToken
  field: LoginField
  localNow: Clock
}

export interface Credentials {
  /** The e-mail address or the username, as `field` says. */
  username: string
  password: string
}

/**
 * Exchanges credentials for a token; throws `invalid_credentials`, whatever is wrong with them, `second_factor_required` after
 * the right ones, `rate_limited`, and `overloaded` when too many logins wait.
 */
export function createLogIn({
  limitLogin,
  users,
  replaceHash,
  passwords,
  reportUnusableHash,
  countFailedLogin,
  notifyNewClient,
  requireSecondFactor,
  issueToken,
  field,
  localNow,
}: LogInDependencies) {
  async function logIn(
    { username, password }: Credentials,
    client: HashClient,
    audit: RequestAudit,
  ): Promise<IssuedToken> {
    // This comes before the database is asked: under an overload most logins end here.
    passwords.requireRoom(client)
    const readAt = toNumericDate(localNow())
    const user = await users.findByLogin(field, username)
    // Verified for unknown and deleted users too: the time must not reveal which users exist.
    const verification = await passwords.verify(password, user?.passwordHash, client)
    if (user && !verification.matches && verification.unusable)
      reportUnusableHash(user.userid, verification.unusable)
    if (!user || user.deletedAt || !verification.matches) {
      audit.report({ name: 'login.refused', userid: user?.userid, reason: reasonOf(user) })
      countFailedLogin(username, user?.userid, audit)
      throw new AppError('invalid_credentials', 'The username or the password is wrong')
    }
    if (verification.rehashed) await replaceHash(user.userid, user.passwordHash, verification.rehashed)
    // What is begun now is begun under the hash that is stored now.
    await requireSecondFactor({ ...user, passwordHash: verification.rehashed ?? user.passwordHash }, audit)
    audit.report({ name: 'login.succeeded', userid: user.userid })
    await notifyNewClient(user, audit)
    return issueToken(user, readAt, audit)
  }

  return (credentials: Credentials, { request, audit }: Client): Promise<IssuedToken> =>
    // Whether the user exists shows neither in the answer nor in its time.
    roundUpRefusal('invalid_credentials', () =>
      limitLogin(request, credentials.username, (client) => logIn(credentials, client, audit)),
    )
}

function reasonOf(user: User | undefined): string {
  if (!user) return 'unknown_user'
  return user.deletedAt ? 'deleted_user' : 'wrong_password'
}
