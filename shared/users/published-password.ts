import { printable } from '@latchkey/text/printable.ts'
import type { PasswordHasher } from '../passwords/password-hasher.ts'
import { DEMO_PASSWORD, DEMO_USERS } from './demo-users.ts'
import type { User } from './user.ts'
import type { UserRepository } from './user-repository.ts'

export interface PublishedPasswordDependencies {
  users: Pick<UserRepository, 'findByLogin'>
  passwords: Pick<PasswordHasher, 'verify'>
}

/** The accounts with the e-mail or username of a demo user that can log in with the published password. */
export async function findPublishedPasswords({
  users,
  passwords,
}: PublishedPasswordDependencies): Promise<User[]> {
  const found = new Map<string, User>()
  for (const { email, username } of DEMO_USERS) {
    for (const user of [
      await users.findByLogin('email', email),
      await users.findByLogin('username', username),
    ])
      if (user && !user.deletedAt) found.set(user.userid, user)
  }
  const verified = await Promise.all(
    [...found.values()].map(async (user) => ({
      user,
      ...(await passwords.verify(DEMO_PASSWORD, user.passwordHash)),
    })),
  )
  return verified.filter(({ matches }) => matches).map(({ user }) => user)
}

/** Names the accounts, and the command that gives each another password. */
export function describePublishedPasswords(accounts: readonly User[], environment: string): string {
  const names = new Intl.ListFormat('en').format(accounts.map(({ username }) => printable(username)))
  const commands = accounts.map(
    ({ username }) => `npx scriptify run Users::setPassword --arg ${printable(shellWord(username))}`,
  )
  return (
    `In the environment ${environment} no account may have the published password of the demo users, and ${names} ` +
    `${accounts.length === 1 ? 'has' : 'have'} it. Set another one: ${commands.join(' && ')}`
  )
}

const shellWord = (text: string): string =>
  /^[\w.@-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`
