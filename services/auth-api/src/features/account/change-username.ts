import { isOwnUsername } from '@latchkey/shared/users/account-names.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import { invalidMembers } from './given-profile.ts'

type ChangeUsernameCore = Pick<Core, 'guard' | 'limitUsernameChanges' | 'limitTakenNames' | 'notify'>

export interface UsernameChange {
  username: string
  /** Absent for a user without a password. */
  currentPassword?: string | undefined
}

/**
 * Changes the username of a token's user, who gets a mail. Throws `username_taken`, `invalid_input` for another person's e-mail,
 * `rate_limited`, and what the guard throws.
 */
export async function changeUsername(
  { guard, limitUsernameChanges, limitTakenNames, notify }: ChangeUsernameCore,
  { username, currentPassword }: UsernameChange,
  client: LoggedInClient,
): Promise<void> {
  const { claims, audit } = client
  await limitUsernameChanges(client, claims.sub)
  await limitTakenNames(client, claims.sub, () =>
    guard.change('setUsername', client, currentPassword, async (transaction, user) => {
      requireOwn(username, user)
      await guard.usersFor(transaction, user).setUsername(user.userid, username)
      await audit.write(transaction, { name: 'username.changed', userid: user.userid })
      await notify(transaction, user, { template: 'username-changed' }, audit.address)
    }),
  )
}

function requireOwn(username: string, { email }: User): void {
  if (!isOwnUsername(username, email))
    throw invalidMembers([{ path: 'username', message: 'must not be the e-mail of another account' }])
}
