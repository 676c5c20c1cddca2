import type { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { Client } from '../../http/client.ts'
import type { IssuedLogin } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { requireAdmitted } from '../../tokens/require-admitted.ts'
import { MULTI_FACTOR } from '../../tokens/require-login.ts'
import { type Challenge, challengeRefused, LOGIN } from './challenges.ts'
import { limitAttempt } from './factor-attempts.ts'
import type { FactorTraits, SecondFactor, VerifyFactor } from './second-factor.ts'

export interface FactorLogin {
  challenge: Challenge
  kind: FactorTraits
  verify: VerifyFactor
  /** Default: the user of the challenge. */
  userid?: string
  /** The refusal where no user has the id. Default: `challenge_refused`. */
  userNotFound?: () => AppError
  /** Where the client keeps a refresh token; undefined where it has not asked for one. */
  remember: RefreshForm | undefined
}

/**
 * Exchanges the challenge of a login and a factor for a token. Mails about a new client, and remembers its address for logins by
 * the password. Throws what `limitAttempt` and `verify` throw.
 */
export async function verifyLogin(
  secondFactor: SecondFactor,
  { challenge, kind, verify, userid = challenge.sub, userNotFound = challengeRefused, remember }: FactorLogin,
  client: Client,
): Promise<IssuedLogin> {
  const { knownAddresses, notifyNewClient, field } = secondFactor
  const followsPassword = firstFactorOf(challenge).includes('pwd')
  const attempt = { userid, purpose: 'login', kind, challenge: challenge.jti, followsPassword } as const
  const { user, issued } = await limitAttempt(secondFactor, client, attempt, () =>
    logIn(secondFactor, { challenge, verify, userid, userNotFound, remember }, client),
  )
  await notifyNewClient(user, client.audit)
  await knownAddresses.remember(client, user[field] ?? user.userid)
  return issued
}

async function logIn(
  { usersIn, transaction, challenges, issueLogin, localNow }: SecondFactor,
  { challenge, verify, userid, userNotFound, remember }: Required<Omit<FactorLogin, 'kind'>>,
  { audit }: Client,
): Promise<{ user: User; issued: IssuedLogin }> {
  const readAt = toNumericDate(localNow())
  const [user, amr] = await transaction(async (db) => {
    const user = await usersIn(db).lockAndFind(userid)
    if (!user || user.deletedAt) throw userNotFound()
    // A refused factor rolls this back, and the challenge can be answered again.
    await challenges.use(db, user, challenge)
    return [user, await verify(db, user)] as const
  })
  requireAdmitted(user, localNow(), audit)
  audit.report({ name: 'login.succeeded', userid: user.userid })
  const first = firstFactorOf(challenge)
  const issued = await issueLogin(user, readAt, audit, { amr: [...first, ...amr, MULTI_FACTOR], remember })
  return { user, issued }
}

/** How the user of a challenge has shown the first factor; an older version says it of none. */
const firstFactorOf = ({ aud, first = ['pwd'] }: Challenge): readonly string[] => (aud === LOGIN ? first : [])
