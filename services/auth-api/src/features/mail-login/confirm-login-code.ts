import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { confirmEmail } from '@latchkey/shared/users/account-state.ts'
import { createMailedCodeRepository, type MailedCode } from '@latchkey/shared/users/mailed-code-repository.ts'
import { fold, type User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import { MAILED_CODE } from '../../tokens/current-amr.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { requireAdmitted } from '../../tokens/require-admitted.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { requireCode } from '../one-time-codes/require-code.ts'
import { requireFactor } from '../second-factor/require-factor.ts'

type ConfirmLoginCodeCore = Pick<
  Core,
  | 'limitCodes'
  | 'accountKey'
  | 'knownAddresses'
  | 'db'
  | 'transaction'
  | 'codeSecrets'
  | 'challenges'
  | 'guard'
  | 'notifyFailedLogin'
  | 'notifyNewClient'
  | 'issueLogin'
  | 'localNow'
  | 'sharedNow'
>

export interface LoginCodeConfirmation {
  email: string
  /** The code of the mail: six digits. */
  code: string
  /** The token of the request, or that of the mail's link. */
  token: string
  /** Where the client keeps a refresh token; undefined where it has not asked for one. */
  remember?: RefreshForm | undefined
}

const CODE_REFUSED = { code: 'login_code_refused', name: 'login_code.refused' } as const

/**
 * Exchanges a mailed code for a token. Throws `login_code_refused` for every fault of the code and of its user,
 * `second_factor_required`, `account_banned` after the right one, and `rate_limited`.
 */
export function createConfirmLoginCode(
  core: ConfirmLoginCodeCore,
  { reset: { attempts }, login: { field } }: Pick<Config, 'reset' | 'login'>,
) {
  const { accountKey, db, transaction, challenges, guard, localNow, sharedNow } = core
  const codes = createMailedCodeRepository(db, 'login')

  function requirePending(given: LoginCodeConfirmation, { audit }: Client): Promise<MailedCode> {
    const refusal = (pending?: MailedCode): AppError => {
      // A decoy has the id of nobody, and causes the same work.
      if (pending) {
        const { email, userid } = pending
        core.notifyFailedLogin({ account: accountKey(email), userid, audit })
      }
      return loginCodeRefused()
    }
    const secrets = core.codeSecrets.login
    return requireCode({ codes, secrets, takesId: true, attempts, refusal, sharedNow }, given.email, given)
  }

  const usePending = (pending: MailedCode): Promise<User> =>
    transaction(async (db) => {
      const users = createUserRepository(db)
      const user = await users.lockAndFind(pending.userid ?? '')
      const now = new Date(sharedNow())
      const codes = createMailedCodeRepository(db, 'login')
      // A change of e-mail ends the codes of the old mailbox.
      const isOwner = user !== undefined && !user.deletedAt && fold(user.email ?? '') === pending.email
      if (!isOwner || !(await codes.use(pending.id, now))) throw loginCodeRefused()
      await Promise.all([codes.endAll(user.userid, now), confirmEmail(users, user)])
      return (await users.findById(user.userid)) ?? user
    })

  async function logIn(given: LoginCodeConfirmation, client: Client): Promise<IssuedLogin> {
    const { audit } = client
    const pending = await requirePending(given, client)
    const readAt = toNumericDate(localNow())
    const user = await usePending(pending)
    if (challenges) await requireFactor({ challenges, guard }, user, audit, [MAILED_CODE])
    requireAdmitted(user, localNow(), audit)
    audit.report({ name: 'login.succeeded', userid: user.userid })
    await core.notifyNewClient(user, audit)
    await core.knownAddresses.remember(client, user[field] ?? user.userid)
    return core.issueLogin(user, readAt, audit, { amr: [MAILED_CODE], remember: given.remember })
  }

  return (given: LoginCodeConfirmation, client: Client): Promise<IssuedLogin> =>
    guardCodeAttempt(core, client, { account: given.email, ...CODE_REFUSED }, () => logIn(given, client))
}

/** Creates the one error for every reason: the reason would only help an attacker. */
const loginCodeRefused = () => new AppError('login_code_refused', 'Invalid or expired code or token')
