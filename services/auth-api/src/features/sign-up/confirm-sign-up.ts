import { AppError } from '@latchkey/shared/app-error.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { LANGUAGE_PROPERTY, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { CodeSecrets } from '../../one-time-codes/code-secrets.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import { signUpRefused } from './sign-up-refused.ts'
import type { PendingSignUp, SignUpRepository } from './sign-up-repository.ts'

export interface ConfirmSignUpDependencies {
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'insert' | 'setProperty' | 'findById'>
  signUps: Pick<SignUpRepository, 'findNewest' | 'countAttempt'>
  signUpsOf: (transaction: Queryable) => Pick<SignUpRepository, 'remove'>
  secrets: Pick<CodeSecrets, 'isHashOf'>
  issueToken: IssueToken
  attempts: number
  clock: Clock
}

export interface SignUpConfirmation {
  email: string
  /** Six digits. */
  code: string
  /** The token of the sign-up. Without it the newest sign-up of the e-mail is confirmed, which may be that of a stranger. */
  token?: string | undefined
  /** In place of the one of the sign-up, which may be taken. */
  username?: string | undefined
}

export type ConfirmSignUp = ReturnType<typeof createConfirmSignUp>

/**
 * Creates the user of a sign-up by the code of its mail, and returns a token. Throws `signup_refused` for every fault of
 * the code, and `username_taken`, after which the sign-up can be confirmed under another username.
 */
export function createConfirmSignUp(dependencies: ConfirmSignUpDependencies) {
  const { transaction, usersOf, signUps, signUpsOf, secrets, issueToken, attempts, clock } = dependencies

  async function findConfirmed({ email, code, token }: SignUpConfirmation): Promise<PendingSignUp> {
    const pending = await signUps.findNewest(email)
    if (!pending) throw signUpRefused()
    if (token !== undefined && !secrets.isHashOf(pending.tokenHash, pending.id, token)) throw signUpRefused()
    // The database counts before the code is compared, so that concurrent guesses cannot exceed `attempts`.
    if (!(await signUps.countAttempt(pending.id, attempts, new Date(clock())))) throw signUpRefused()
    if (!secrets.isHashOf(pending.codeHash, pending.id, code)) throw signUpRefused()
    return pending
  }

  const createUser = (pending: PendingSignUp, username: string, audit: Pick<RequestAudit, 'write'>) =>
    transaction(async (db): Promise<User> => {
      // Of two confirmations at the same time, the second finds no row.
      if (!(await signUpsOf(db).remove(pending.id, new Date(clock())))) throw signUpRefused()
      const users = usersOf(db)
      const { name = null, email, passwordHash, language } = pending
      const userid = await users.insert({ name, email, username, passwordHash, role: null })
      await users.setProperty(userid, LANGUAGE_PROPERTY, language)
      await audit.write(db, { name: 'signup.confirmed', userid })
      const user = await users.findById(userid)
      if (!user) throw new Error('The user of a sign-up was not stored')
      return user
    })

  return async (given: SignUpConfirmation, audit: Pick<RequestAudit, 'write'>): Promise<IssuedToken> => {
    const pending = await findConfirmed(given)
    const readAt = toNumericDate(clock())
    const username = given.username ?? pending.username
    return issueToken(await createUser(pending, username, audit).catch(asRefusal), readAt)
  }
}

/** An e-mail that was taken since the sign-up is told by the mail to its owner only. */
function asRefusal(error: unknown): never {
  if (error instanceof AppError && error.code === 'email_taken') throw signUpRefused()
  throw error
}
