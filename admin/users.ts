import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import {
  createEmailChangeRepository,
  type PendingEmail,
} from '@latchkey/shared/users/email-change-repository.ts'
import { createErasureRepository } from '@latchkey/shared/users/erasure.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import { createManyUsersRepository } from '@latchkey/shared/users/many-users-repository.ts'
import { declaredRoles } from '@latchkey/shared/users/roles.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { printable } from '@latchkey/text/printable.ts'
import { describeFactors, removeAccountFactors, resealFactors } from './accounts/account-factors.ts'
import {
  addAccountIdentity,
  describeIdentities,
  removeAccountIdentity,
} from './accounts/account-identities.ts'
import { banAccount, unbanAccount } from './accounts/ban-account.ts'
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
import { eraseAccount } from './accounts/erase-account.ts'
import { generatePassword } from './accounts/generate-password.ts'
import { getAccount } from './accounts/get-account.ts'
import { type AdminContext, withAdminContext } from './admin-context.ts'
import { readSecretLine } from './console/read-secret-line.ts'
import { parseWholeNumber } from './fault.ts'
import { importUsers } from './import-users/import-users.ts'

const FROM_STANDARD_INPUT = '-'
const FORCE = '--force'
const DRY_RUN = '--dry-run'
const MAX_LISTED = 10_000

/** The users in the database at DATABASE_URL. A login is a username, an e-mail or a userid. */
export class Users {
  /**
   * Creates a user. Without a password, one is generated and printed; `-` reads it from standard input. Other users
   * of this machine can see a password among the arguments in the list of processes.
   */
  async create(username: string, email: string, name = '', role = '', password = ''): Promise<void> {
    await withAdminContext(async (context) => {
      const chosen = await choosePassword(password, context)
      const userid = await createAccount(context, { username, email, name, role, password: chosen })
      console.log(`Created ${printable(username)} (${userid})`)
      if (password === '') printGenerated(chosen)
    })
  }

  /** Lists the users whose username, e-mail or name contains the search text; all users without one. */
  async list(search = '', limit = '100'): Promise<void> {
    const max = parseWholeNumber('limit', limit, 1, MAX_LISTED)
    const found = await withAdminContext(({ db }) => createManyUsersRepository(db).list(search, max + 1))
    const now = Date.now()
    console.log(found.length > 0 ? describeAccounts(found.slice(0, max), now) : 'No user was found.')
    if (found.length > max)
      console.error(`There are more than these ${max}; give a search text or a higher limit.`)
  }

  /** Shows a user with all properties but internal ones. */
  async show(login: string): Promise<void> {
    console.log(
      await withAdminContext(async ({ db, localNow }) => {
        const user = await getAccount(createUserRepository(db), login)
        return describeAccount(user, localNow(), await createErasureRepository(db).find(user.userid))
      }),
    )
  }

  /**
   * Sets a user's role; an empty one removes it. Revokes all tokens issued so far. A role that no route requires is
   * refused, unless the last argument is `--force`.
   */
  async setRole(login: string, role: string, option = ''): Promise<void> {
    if (option !== '' && option !== FORCE) throw new Error(`The third argument must be ${FORCE} or absent`)
    const known = option === FORCE ? undefined : declaredRoles(await loadExtensions())
    const user = await withAdminContext((context) => setAccountRole(context, login, { role, known }))
    report(user, `now has the role ${printable(role || 'user')}; tokens issued so far are revoked`)
  }

  /**
   * Sets a user's password. Without a password, one is generated and printed; `-` reads it from standard input. Revokes
   * all tokens issued so far, and ends open password resets and changes of e-mail.
   */
  async setPassword(login: string, password = ''): Promise<void> {
    await withAdminContext(async (context) => {
      const chosen = await choosePassword(password, context)
      report(
        await setAccountPassword(context, login, chosen),
        'has a new password; tokens issued so far are revoked',
      )
      if (password === '') printGenerated(chosen)
    })
  }

  /** Sets a property of a user; an empty value removes it. */
  async setProperty(login: string, name: string, value: string): Promise<void> {
    const user = await withAdminContext((context) => setAccountProperty(context, login, name, value))
    report(user, `${value === '' ? 'no longer has' : 'now has'} the property ${printable(name)}`)
  }

  /** Marks a user as deleted: it cannot log in, refresh tokens or reset its password. Users::restore reverts this. */
  async delete(login: string): Promise<void> {
    const user = await withAdminContext((context) => deleteAccount(context, login))
    report(user, 'is deleted; Users::restore reverts this')
  }

  /**
   * Erases everything of a person, at once and for ever: names, e-mail, password, properties, metadata, factors, sessions, codes and
   * mails that wait. The row of the user stays under a random username; the audit trail keeps the events without the person.
   */
  async erase(login: string): Promise<void> {
    const { userid } = await withAdminContext((context) => eraseAccount(context, login))
    console.log(`The person of ${userid} is erased`)
  }

  /** Reverts a deletion, also one whose erasure is to come. Tokens from before stay revoked. */
  async restore(login: string): Promise<void> {
    report(await withAdminContext((context) => restoreAccount(context, login)), 'is restored')
  }

  /**
   * Bans a user: no login and no refresh succeeds, and all tokens issued so far are revoked. `until` is a date or a time such as
   * 2026-12-31T18:00:00Z; without one the ban has no end. The reason is recorded; the user does not see it.
   */
  async ban(login: string, until = '', reason = ''): Promise<void> {
    const user = await withAdminContext((context) => banAccount(context, login, { until, reason }))
    report(user, `is banned${until && ` until ${until}`}; Users::unban ends this`)
  }

  /** Ends the ban of a user. Tokens from before stay revoked. */
  async unban(login: string): Promise<void> {
    report(await withAdminContext((context) => unbanAccount(context, login)), 'is no longer banned')
  }

  /** Revokes all tokens issued to a user so far, and ends open password resets and changes of e-mail. */
  async revoke(login: string): Promise<void> {
    const user = await withAdminContext((context) => revokeTokens(context, login))
    report(user, 'has to log in again; tokens issued so far are revoked')
  }

  /** Logs a user out everywhere, as POST /logout with everywhere does: the same as Users::revoke. */
  async logout(login: string): Promise<void> {
    const user = await withAdminContext((context) => revokeTokens(context, login))
    report(user, 'is logged out everywhere')
  }

  /** Shows the new address of a change of e-mail whose code is not confirmed yet. */
  async pendingEmail(login: string): Promise<void> {
    await withAdminContext(async ({ db, localNow }) => {
      const user = await getAccount(createUserRepository(db), login)
      const pending = await createEmailChangeRepository(db).findPending(user.userid, new Date(localNow()))
      report(user, pending ? describePendingEmail(pending) : 'has no pending change of e-mail')
    })
  }

  /** Shows the second factors of a user, and how many recovery codes are left. */
  async factors(login: string): Promise<void> {
    await withAdminContext(async ({ db }) => {
      const { userid } = await getAccount(createUserRepository(db), login)
      const factors = createFactorRepository(db)
      console.log(describeFactors(await factors.find(userid), (await factors.findCodes(userid)).length))
    })
  }

  /**
   * Removes every second factor of a user who has lost them, and the recovery codes; revokes all tokens issued so far. The
   * reason is recorded in the audit trail. The user logs in with the password only, so first make sure that it is the user who
   * asks.
   */
  async removeFactors(login: string, reason: string): Promise<void> {
    const user = await withAdminContext((context) => removeAccountFactors(context, login, reason))
    report(user, 'has no second factor; tokens issued so far are revoked')
  }

  /** Shows the accounts at identity providers by which a user logs in. */
  async identities(login: string): Promise<void> {
    await withAdminContext(async ({ db }) => {
      const { userid } = await getAccount(createUserRepository(db), login)
      console.log(describeIdentities(await createIdentityRepository(db).list(userid)))
    })
  }

  /** Lets a user log in as a person of a provider: its name in OIDC_PROVIDERS, and the `sub` that it gives to the person. */
  async addIdentity(login: string, provider: string, subject: string): Promise<void> {
    const user = await withAdminContext((context) =>
      addAccountIdentity(context, login, { provider, subject }),
    )
    report(user, `can log in with ${provider}`)
  }

  /** Removes an account at a provider from a user, and revokes all tokens issued so far. The last way to log in stays. */
  async removeIdentity(login: string, provider: string, subject: string): Promise<void> {
    const user = await withAdminContext((context) =>
      removeAccountIdentity(context, login, { provider, subject }),
    )
    report(user, `can no longer log in with ${printable(provider)}; tokens issued so far are revoked`)
  }

  /**
   * Reseals by FACTOR_SECRET what FACTOR_SECRET_PREVIOUS sealed. After it, FACTOR_SECRET_PREVIOUS can be removed. Fails when a
   * secret opens with neither.
   */
  async resealFactors(): Promise<void> {
    const settings = parseSettings(['FACTOR_SECRET', 'FACTOR_SECRET_PREVIOUS'], loadEnvironment(process.env))
    const { FACTOR_SECRET: secret, FACTOR_SECRET_PREVIOUS: previousSecret } = settings
    if (!secret) throw new Error('FACTOR_SECRET is not set: give the command the secrets of auth-api')
    const { resealed, lost } = await withAdminContext((context) =>
      resealFactors(context, { secret, previousSecret }),
    )
    console.log(`Secrets sealed again: ${resealed}`)
    if (lost > 0)
      throw new Error(
        `Secrets that open with neither FACTOR_SECRET nor FACTOR_SECRET_PREVIOUS: ${lost}; set the one that sealed them as FACTOR_SECRET_PREVIOUS`,
      )
  }

  /**
   * Imports users from a CSV file with the columns username, email, password or password_hash, and optionally name, role,
   * property:<name>, userid, created_at, email_confirmed, banned_until, deleted_at, language, metadata, identities, totp_secret and
   * recovery_codes. With `--dry-run` it only counts and refuses. Fails when it refuses a line; it imports the other lines
   * nevertheless.
   */
  async import(file: string, option = ''): Promise<void> {
    if (option !== '' && option !== DRY_RUN)
      throw new Error(`The second argument must be ${DRY_RUN} or absent`)
    const names = ['FACTOR_SECRET', 'FACTOR_SECRET_PREVIOUS'] as const
    const { FACTOR_SECRET: secret, FACTOR_SECRET_PREVIOUS: previous } = parseSettings(
      names,
      loadEnvironment(process.env),
    )
    const sealer = secret && createFactorSealer(secret, previous)
    await withAdminContext((context) => importUsers(context, file, { isDryRun: option === DRY_RUN, sealer }))
  }
}

const describePendingEmail = ({ email, requestedAt, expiresAt }: PendingEmail): string =>
  `asked at ${requestedAt.toISOString()} to change the e-mail to ${printable(email)}; the code ends at ${expiresAt.toISOString()}`

const report = (user: User, what: string): void =>
  console.log(`${printable(user.username)} (${user.userid}) ${what}`)

async function choosePassword(given: string, { policy }: AdminContext): Promise<string> {
  if (given === FROM_STANDARD_INPUT) return readSecretLine('Password: ')
  return given === '' ? generatePassword(policy) : given
}

const printGenerated = (password: string): void =>
  console.log(`Password: ${password}\nIt is not shown again.`)
