import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { IssuedToken, IssueToken, TokenUser } from '../../tokens/issue-token.ts'
import type { AttemptCode } from '../one-time-codes/attempt-code.ts'
import type { RequireCode } from '../one-time-codes/require-code.ts'
import type { SignUp, SignUpRepository } from './sign-up-repository.ts'

export interface ConfirmSignUpDependencies {
  attemptCode: AttemptCode
  transaction: Database['transaction']
  usersIn: (transaction: Queryable) => Pick<UserRepository, 'insert' | 'setProperty'>
  signUpsIn: (transaction: Queryable) => Pick<SignUpRepository, 'use'>
  requireCode: RequireCode<SignUp>
  issueToken: IssueToken
  localNow: Clock
  /** The clock of the database, by which another replica may have stored when the code ends. */
  sharedNow: Clock
}

export interface SignUpConfirmation {
  email: string
  /** The code of the mail: six digits. */
  code: string
  /** The token of the sign-up. A stranger can sign up with the same e-mail and another password: the mail alone proves too little. */
  token: string
  /** A username chosen now, if the one of the sign-up is taken. */
  username?: string | undefined
}

/**
 * Creates the user of a sign-up by its token and the code of its mail, and returns an access token. Throws `signup_refused` for
 * every fault of the two, and `username_taken`, after which the sign-up can be confirmed under another username, and
 * `rate_limited`.
 */
export function createConfirmSignUp(dependencies: ConfirmSignUpDependencies) {
  const { attemptCode, requireCode, transaction, usersIn, signUpsIn } = dependencies
  const { issueToken, localNow, sharedNow } = dependencies

  const createUser = (pending: SignUp, username: string, audit: Pick<RequestAudit, 'write'>) =>
    transaction(async (db): Promise<TokenUser> => {
      // Concurrent confirmations: the second finds no row.
      if (!(await signUpsIn(db).use(pending.id, new Date(sharedNow())))) throw signUpRefused()
      const users = usersIn(db)
      const { name = null, email, passwordHash, language } = pending
      const userid = await users.insert({ name, email, username, passwordHash, role: null })
      await Promise.all([
        users.setProperty(userid, LANGUAGE_PROPERTY, language),
        audit.write(db, { name: 'signup.confirmed', userid }),
      ])
      return { userid, name, role: null, properties: [] }
    })

  return (given: SignUpConfirmation, client: Client): Promise<IssuedToken> =>
    attemptCode(client, given.email, { code: 'signup_refused', name: 'signup.refused' }, async () => {
      const { audit } = client
      const pending = await requireCode(given.email, given)
      const readAt = toNumericDate(localNow())
      const username = given.username ?? pending.username
      const user = await createUser(pending, username, audit).catch(asRefusal)
      return issueToken(user, readAt, audit)
    })
}

/** Hides from the client that the e-mail was taken since the sign-up: only a mail may tell its owner. */
function asRefusal(error: unknown): never {
  if (error instanceof AppError && error.code === 'email_taken') throw signUpRefused()
  throw error
}

/** One error for every reason: the reason would only help an attacker. */
export const signUpRefused = () => new AppError('signup_refused', 'Invalid or expired code or token')
