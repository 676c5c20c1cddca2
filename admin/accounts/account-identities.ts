import { PROVIDER_NAME } from '@latchkey/shared/settings/provider-name.ts'
import {
  createIdentityRepository,
  requireOtherWayIn,
  type UserIdentity,
} from '@latchkey/shared/users/identity-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import { printable } from '@latchkey/text/printable.ts'
import type { AdminContext } from '../admin-context.ts'
import { formatTable } from '../console/format-table.ts'
import { requireNoFaults } from '../fault.ts'
import { recordEvent } from './record-event.ts'
import { withLockedAccount } from './with-locked-account.ts'

/** A person at a provider: its name in OIDC_PROVIDERS, and the `sub` of the ID token. */
export type Subject = Pick<UserIdentity, 'provider' | 'subject'>

/** Lets a user log in as a person of a provider. The user gets a mail. */
export async function addAccountIdentity(
  { db, localNow, notify }: AdminContext,
  login: string,
  { provider, subject }: Subject,
): Promise<User> {
  requireNoFaults('No identity was added', findFaults({ provider, subject }))
  return withLockedAccount(db, login, async (_users, user, transaction) => {
    const { userid } = user
    const identity = { userid, provider, subject, email: undefined }
    await createIdentityRepository(transaction).insert(identity, new Date(localNow()))
    await recordEvent(transaction, 'identity.added', userid, localNow(), provider)
    await notify(transaction, user, { template: 'identity-added', provider, isAlone: false }, undefined)
  })
}

/** Removes an identity of a user, and revokes every token issued so far. The last way to log in stays. */
export const removeAccountIdentity = (
  { db, localNow, notify }: AdminContext,
  login: string,
  { provider, subject }: Subject,
): Promise<User> =>
  withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    const identities = createIdentityRepository(transaction)
    const found = await identities.find(provider, subject)
    if (found?.userid !== userid)
      throw new Error(`${user.username} has no such identity; Users::identities lists them`)
    await requireOtherWayIn(transaction, user, found.id)
    await identities.delete(found.id, userid)
    await revokeUserTokens(users, user, localNow())
    await recordEvent(transaction, 'identity.removed', userid, localNow(), provider)
    await notify(transaction, user, { template: 'identity-removed', provider }, undefined)
  })

function findFaults({ provider, subject }: Subject) {
  return [
    ...(PROVIDER_NAME.test(provider)
      ? []
      : [{ field: 'provider', reason: 'must be a name of OIDC_PROVIDERS' }]),
    ...(/^[\x21-\x7e]{1,255}$/.test(subject)
      ? []
      : [{ field: 'subject', reason: 'must be the sub of an ID token' }]),
  ]
}

/** Describes the identities of a user. */
export function describeIdentities(identities: readonly UserIdentity[]): string {
  if (identities.length === 0) return 'The user has no identity.'
  const rows = identities.map(({ provider, subject, email = '', createdAt, lastUsedAt }) => [
    provider,
    subject,
    printable(email),
    createdAt.toISOString(),
    lastUsedAt?.toISOString() ?? 'never',
  ])
  return formatTable(['provider', 'subject', 'e-mail', 'added', 'last used'], rows)
}
