import { AppError } from '@latchkey/shared/errors/app-error.ts'
import {
  createIdentityRepository,
  requireOtherWayIn,
  type UserIdentity,
} from '@latchkey/shared/users/identity-repository.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { IdentityProvider } from './identity-provider.ts'
import type { PendingLogins } from './pending-logins.ts'

/** How a client shows that a provider has identified its user: the code of a login and its verifier, or a ticket. */
export type ShownIdentity = { code: string; codeVerifier: string } | { ticket: string }

interface ManageIdentitiesOptions {
  providers: ReadonlyMap<string, IdentityProvider>
  logins: PendingLogins
}

/** Creates the functions by which users change by which providers they log in. Each change needs a login of the last minutes. */
export function createManageIdentities(
  { guard, notify, localNow }: Pick<Core, 'guard' | 'notify' | 'localNow'>,
  { providers, logins }: ManageIdentitiesOptions,
) {
  const labelOf = (provider: string): string => providers.get(provider)?.label ?? provider

  return {
    labelOf,

    /** Adds an identity to a token's user. Throws `exchange_refused`, `identity_taken`, and what the guard throws. */
    add: (shown: ShownIdentity, client: LoggedInClient): Promise<void> =>
      guard.change('addIdentity', client, undefined, async (db, user) => {
        const { provider, identity } =
          'ticket' in shown
            ? await logins.useTicket(db, shown.ticket)
            : await logins.useCode(db, shown.code, shown.codeVerifier)
        const { userid } = user
        const { subject, email } = identity
        await createIdentityRepository(db).insert(
          { userid, provider, subject, email: email?.slice(0, 120) },
          new Date(localNow()),
        )
        await client.audit.write(db, { name: 'identity.added', userid, reason: provider })
        const notice = { template: 'identity-added', provider: labelOf(provider), isAlone: false } as const
        await notify(db, user, notice, client.audit.address)
      }),

    /**
     * Removes an identity of a token's user, and ends every other token: a login by it may have issued one. Throws
     * `identity_not_found`, `last_way_in`, and what the guard throws.
     */
    remove: (id: string, client: LoggedInClient): Promise<void> =>
      guard.change('removeIdentity', client, undefined, async (db, user) => {
        const { userid } = user
        const { audit, claims } = client
        const identities = createIdentityRepository(db)
        const removed = (await identities.list(userid)).find((identity: UserIdentity) => identity.id === id)
        if (!removed) throw new AppError('identity_not_found', 'You have no such identity')
        await requireOtherWayIn(db, user, id)
        await identities.delete(id, userid)
        await Promise.all([
          revokeUserTokens(guard.usersFor(db, user), user, localNow(), { except: claims }),
          audit.write(db, { name: 'identity.removed', userid, reason: removed.provider }),
          notify(
            db,
            user,
            { template: 'identity-removed', provider: labelOf(removed.provider) },
            audit.address,
          ),
        ])
      }),
  }
}
