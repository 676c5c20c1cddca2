import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { roundUpRefusal } from '../../limits/round-up-duration.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { requireAdmitted } from '../../tokens/require-admitted.ts'
import { requireFactor } from '../second-factor/require-factor.ts'

type LogInCore = Pick<
  Core,
  | 'limitLogin'
  | 'users'
  | 'passwords'
  | 'accountKey'
  | 'notifyFailedLogin'
  | 'notifyNewClient'
  | 'challenges'
  | 'guard'
  | 'issueLogin'
  | 'logger'
  | 'localNow'
>

export interface Credentials {
  /** The e-mail address or the username, as `field` says. */
  username: string
  password: string
  /** Where the client keeps a refresh token; undefined where it has not asked for one. */
  remember?: RefreshForm | undefined
}

/**
 * Exchanges credentials for a token; throws `invalid_credentials`, whatever is wrong with them, `second_factor_required` after
 * the right ones, `account_banned` and `email_unconfirmed` after everything that the account requires, `rate_limited`, and `overloaded` when too many logins wait.
 */
export function createLogIn(core: LogInCore, { field }: Config['login']) {
  const { limitLogin, users, passwords, challenges, guard, notifyNewClient, issueLogin, localNow } = core

  async function logIn(
    { username, password, remember }: Credentials,
    hashClient: HashClient,
    audit: RequestAudit,
  ): Promise<IssuedLogin> {
    // This comes before the database is asked: under an overload most logins end here.
    passwords.requireRoom(hashClient)
    const readAt = toNumericDate(localNow())
    const user = await users.findByLogin(field, username)
    // The password of unknown and deleted users is verified too: the time must not reveal which users exist.
    const verification = await passwords.verify(password, user?.passwordHash, hashClient)
    if (user && !verification.matches && verification.unusable)
      warnOfUnusableHash(core, user, verification.unusable)
    if (!user || user.deletedAt || !verification.matches) {
      audit.report({ name: 'login.refused', userid: user?.userid, reason: reasonOf(user) })
      core.notifyFailedLogin({ account: core.accountKey(username), userid: user?.userid, audit })
      throw new AppError('invalid_credentials', 'The username or the password is wrong')
    }
    if (verification.rehashed) await users.replaceHash(user.userid, user.passwordHash, verification.rehashed)
    // A second step that begins now begins under the hash that is stored now.
    const current = { ...user, passwordHash: verification.rehashed ?? user.passwordHash }
    if (challenges) await requireFactor({ challenges, guard }, current, audit)
    requireAdmitted(user, localNow(), audit)
    audit.report({ name: 'login.succeeded', userid: user.userid })
    await notifyNewClient(user, audit)
    return issueLogin(user, readAt, audit, { remember })
  }

  return (credentials: Credentials, client: Client): Promise<IssuedLogin> =>
    // Neither the answer nor its time shows whether the user exists.
    roundUpRefusal('invalid_credentials', () =>
      limitLogin(client, credentials.username, (hashClient) => logIn(credentials, hashClient, client.audit)),
    )
}

function reasonOf(user: User | undefined): string {
  if (!user) return 'unknown_user'
  return user.deletedAt ? 'deleted_user' : 'wrong_password'
}

/** Tells the operator of a stored hash that no password can match; `reason` is a predicate of the hash. */
const warnOfUnusableHash = ({ logger }: Pick<Core, 'logger'>, { userid }: User, reason: string): void =>
  logger.warn({ userid }, `stored hash cannot be verified: it ${reason}`)
