import { printable } from '@latchkey/shared/printable.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import {
  deleteAccount,
  restoreAccount,
  revokeTokens,
  setAccountPassword,
  setAccountProperty,
  setAccountRole,
} from './accounts/change-account.ts'
import { createAccount } from './accounts/create-account.ts'
import { describeAccount, describeAccounts } from './accounts/describe-account.ts'
import { getAccount } from './accounts/find-account.ts'
import { generatePassword } from './accounts/generate-password.ts'
import { createUserListRepository } from './accounts/user-list-repository.ts'
import { type AdminContext, withAdminContext } from './admin-context.ts'
import { readSecretLine } from './console/read-secret-line.ts'
import { parseWholeNumber } from './console/whole-number.ts'
import { importUsers } from './import-users/import-users.ts'

const FROM_STANDARD_INPUT = '-'
const MOST_LISTED = 10_000

/** The users of the database that DATABASE_URL names. A login is a username, an e-mail or a userid. */
export class Users {
  /**
   * Creates a user. Without a password one is generated and printed, once; `-` reads it from standard input. A
   * password among the arguments can be seen by everybody who may list the processes of this machine.
   */
  async create(username: string, email: string, name = '', role = '', password = ''): Promise<void> {
    await withAdminContext(async (context) => {
      const chosen = await choosePassword(password, context)
      const userid = await createAccount(context, { username, email, name, role, password: chosen })
      console.log(`Created ${printable(username)} (${userid})`)
      if (password === '') printGenerated(chosen)
    })
  }

  /** Lists the users whose username, e-mail or name holds the search text, all for an empty one. */
  async list(search = '', limit = '100'): Promise<void> {
    const most = parseWholeNumber('limit', limit, 1, MOST_LISTED)
    const found = await withAdminContext(({ db }) => createUserListRepository(db).list(search, most + 1))
    console.log(found.length > 0 ? describeAccounts(found.slice(0, most)) : 'No user was found.')
    if (found.length > most)
      console.error(`There are more than these ${most}: give a search text or a higher limit.`)
  }

  /** Shows a user with all properties. */
  async show(login: string): Promise<void> {
    console.log(
      await withAdminContext(async ({ db }) =>
        describeAccount(await getAccount(createUserRepository(db), login)),
      ),
    )
  }

  /** Sets a user's role, none for an empty one. All tokens issued so far end. */
  async setRole(login: string, role: string): Promise<void> {
    const user = await withAdminContext((context) => setAccountRole(context, login, role))
    report(user, `now has the role ${printable(role || 'user')}; tokens issued so far have ended`)
  }

  /** Sets a user's password: generated and printed when absent, `-` reads it from standard input. All tokens end. */
  async setPassword(login: string, password = ''): Promise<void> {
    await withAdminContext(async (context) => {
      const chosen = await choosePassword(password, context)
      report(
        await setAccountPassword(context, login, chosen),
        'has a new password; tokens issued so far have ended',
      )
      if (password === '') printGenerated(chosen)
    })
  }

  /** Sets a property of a user; an empty value removes it. */
  async setProperty(login: string, name: string, value: string): Promise<void> {
    const user = await withAdminContext((context) => setAccountProperty(context, login, name, value))
    report(user, `${value === '' ? 'no longer has' : 'now has'} the property ${printable(name)}`)
  }

  /** Deletes a user, softly: it cannot log in, refresh or reset any more, and can be restored. */
  async delete(login: string): Promise<void> {
    const user = await withAdminContext((context) => deleteAccount(context, login))
    report(user, 'is deleted; Users::restore takes that back')
  }

  /** Takes a deletion back. Tokens from before stay ended. */
  async restore(login: string): Promise<void> {
    report(await withAdminContext((context) => restoreAccount(context, login)), 'is restored')
  }

  /** Ends all tokens issued to a user so far. */
  async revoke(login: string): Promise<void> {
    const user = await withAdminContext((context) => revokeTokens(context, login))
    report(user, 'has to log in again; tokens issued so far have ended')
  }

  /**
   * Imports users from a CSV file with the columns username, email, password or password_hash, and if wanted name,
   * role and property:<name>. Fails when a line was refused; the other lines are in the database all the same.
   */
  async import(file: string): Promise<void> {
    await withAdminContext((context) => importUsers(context, file))
  }
}

const report = (user: User, what: string): void =>
  console.log(`${printable(user.username)} (${user.userid}) ${what}`)

async function choosePassword(given: string, { policy }: AdminContext): Promise<string> {
  if (given === FROM_STANDARD_INPUT) return readSecretLine('Password: ')
  return given === '' ? generatePassword(policy) : given
}

const printGenerated = (password: string): void =>
  console.log(`Password: ${password}\nIt is not shown again.`)
