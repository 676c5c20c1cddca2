import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { toNumericDate } from '@latchkey/shared/time/clock.ts'
import { LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'
import type { IssuedLogin, TokenUser } from '../../tokens/issue-token.ts'
import type { RefreshForm } from '../../tokens/refresh-token.ts'
import { guardCodeAttempt } from '../one-time-codes/guard-code-attempt.ts'
import { requireCode } from '../one-time-codes/require-code.ts'
import { createSignUpRepository, type SignUp } from './sign-up-repository.ts'

type ConfirmSignUpCore = Pick<
  Core,
  | 'limitCodes'
  | 'accountKey'
  | 'passwords'
  | 'db'
  | 'transaction'
  | 'usersIn'
  | 'codeSecrets'
  | 'issueLogin'
  | 'localNow'
  | 'sharedNow'
>

export interface SignUpConfirmation {
  email: string
  /** The code of the mail: six digits. */
  code: string
  /** The token of the sign-up, or that of the mail's link. */
  token: string
  /**
   * The password of the sign-up, which the token of a link needs. A stranger can sign up with the same e-mail and another password:
   * the mail alone proves too little.
   */
  password?: string | undefined
  /** A username chosen now, if the one of the sign-up is taken. */
  username?: string | undefined
  /** Where the client keeps a refresh token; undefined where it has not asked for one. */
  remember?: RefreshForm | undefined
}

const CODE_REFUSED = { code: 'signup_refused', name: 'signup.refused' } as const

/**
 * Creates the user of a sign-up by its token and the code of its mail, and returns an access token. Throws `signup_refused` for
 * every fault of the two, `wrong_password` and `username_taken`, after which the sign-up can be confirmed with another one, and
 * `rate_limited`.
 */
export function createConfirmSignUp(core: ConfirmSignUpCore, { attempts }: Config['reset']) {
  const { accountKey, passwords, db, transaction, usersIn, issueLogin, localNow, sharedNow } = core
  const secrets = core.codeSecrets.signup
  const codes = {
    codes: createSignUpRepository(db),
    secrets,
    attempts,
    refusal: signUpRefused,
    sharedNow,
    takesId: true,
  }

  const createUser = (pending: SignUp, username: string, audit: Pick<RequestAudit, 'write'>) =>
    transaction(async (db): Promise<TokenUser> => {
      // Concurrent confirmations: the second finds no row.
      if (!(await createSignUpRepository(db).use(pending.id, new Date(sharedNow())))) throw signUpRefused()
      const users = usersIn(db)
      const { name = null, email, passwordHash, language } = pending
      const userid = await users.insert({ name, email, username, passwordHash, role: null })
      await Promise.all([
        users.setProperty(userid, LANGUAGE_PROPERTY, language),
        audit.write(db, { name: 'signup.confirmed', userid }),
      ])
      return { userid, name, role: null, properties: [] }
    })

  /** Requires the password of a sign-up whose code was right, so the attempts of the code bound the hashes. */
  async function requirePassword(
    { email, passwordHash }: SignUp,
    password: string | undefined,
    client: Client,
  ): Promise<void> {
    const hashClient = { ...client, account: accountKey(email), trust: 'known' } as const
    const { matches } = await passwords.verify(password ?? '', passwordHash, hashClient)
    if (!matches) throw new AppError('wrong_password', 'This is not the password of the sign-up')
  }

  return (given: SignUpConfirmation, client: Client): Promise<IssuedLogin> =>
    guardCodeAttempt(core, client, { account: given.email, ...CODE_REFUSED }, async () => {
      const { audit } = client
      const pending = await requireCode(codes, given.email, given)
      if (given.token === pending.id) await requirePassword(pending, given.password, client)
      const readAt = toNumericDate(localNow())
      const username = given.username ?? pending.username
      const user = await createUser(pending, username, audit).catch(asRefusal)
      return issueLogin(user, readAt, audit, { remember: given.remember })
    })
}

/** Hides from the client that the e-mail was taken since the sign-up: only a mail may tell its owner. */
function asRefusal(error: unknown): never {
  if (error instanceof AppError && error.code === 'email_taken') throw signUpRefused()
  throw error
}

/** One error for every reason: the reason would only help an attacker. */
const signUpRefused = () => new AppError('signup_refused', 'Invalid or expired code or token')
