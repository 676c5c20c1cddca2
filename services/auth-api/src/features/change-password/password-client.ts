import { AppError } from '@latchkey/shared/app-error.ts'
import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { LoginField } from '@latchkey/shared/users/user-repository.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'

/** The client of one request: it proves that it knows a password, and has a new one hashed. */
export interface PasswordClient {
  /** Throws `wrong_password`, which counts as a failed login, and `rate_limited` after too many of them. */
  verify: (user: User, password: string) => Promise<void>
  hash: (password: string) => Promise<string>
}

export interface PasswordClientDependencies {
  passwords: Pick<PasswordHasher, 'verify' | 'hash'>
  field: LoginField
  /** Counts with the failed logins of the account and of the client's address. */
  limit: (account: string, attempt: (client: HashClient) => Promise<void>) => Promise<void>
  address: string
  audit: Pick<RequestAudit, 'report'>
}

/** Creates the password client of a request. */
export const createPasswordClient = ({
  passwords,
  field,
  limit,
  address,
  audit,
}: PasswordClientDependencies): PasswordClient => ({
  // The account is what a login of this user contains: guesses here and there are counted together.
  verify: (user, password) =>
    limit(user[field] ?? user.userid, async (client) => {
      const { matches } = await passwords.verify(password, user.passwordHash, client)
      if (matches) return
      audit.report({ name: 'current_password.refused', userid: user.userid })
      throw wrongPassword('The current password is wrong')
    }),
  // The client has proved the current password.
  hash: (password) => passwords.hash(password, { address, trust: 'known' }),
})

export const wrongPassword = (message: string) => new AppError('wrong_password', message)
