import type { Transaction } from '@latchkey/shared/database/database.ts'
import {
  createMetadataRepository,
  findMetadataFault,
  type Metadata,
  mergeMetadata,
} from '@latchkey/shared/users/metadata.ts'
import { LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { Caller } from '../../tokens/claims.ts'
import { guardChanged } from './account-guard.ts'
import type { Proof } from './begin-change.ts'
import { createChangeEmail } from './change-email.ts'
import { getProfile } from './get-profile.ts'
import { findProfileChange, type GivenProfile, invalidMembers, type ProfileChange } from './given-profile.ts'
import { toProfile } from './profile.ts'
import type { ProfileRecord } from './profile-repository.ts'

type UpdateProfileCore = Pick<Core, 'db' | 'transaction' | 'getTokenUser'> &
  Parameters<typeof createChangeEmail>[0]

/**
 * Changes the given fields of the profile of a token's user, all or none; returns the profile as it now is. `currentPassword` is
 * required to change the e-mail where EMAIL_CHANGE is `confirmed` and the user has a password. Throws `email_taken`,
 * `wrong_password`, `rate_limited`, `invalid_input` for a member that is not stored and for metadata that became too large, and
 * `invalid_token` when the token has ended.
 */
export function createUpdateProfile(core: UpdateProfileCore, config: Pick<Config, 'profile' | 'reset'>) {
  const { transaction, usersIn, getTokenUser, sharedNow } = core
  const { changeEmail, guardEmailChange } = createChangeEmail(core, config)

  const store = (
    caller: Caller,
    { name, keptEmail, language, metadata }: ProfileChange,
    newEmail?: { email: string; proof: Proof },
  ): Promise<ProfileRecord> =>
    transaction(async (db) => {
      const users = usersIn(db)
      const { claims } = caller
      const userid = claims.sub
      const find = () => getProfile({ db, sharedNow }, config.reset, userid)
      // Either locks the user, so there is one update at a time: no key of users_property prevents two languages.
      const locked = name === undefined ? users.lock(userid) : users.setName(userid, name)
      // A replica remembers tokens as valid for REVOCATION_CACHE. For one that has ended, the change is rolled back.
      const valid = getTokenUser(db, claims)
      if (!newEmail && [keptEmail, language, metadata].every((each) => each === undefined)) {
        // None of them needs the answer of another one.
        const [, , profile] = await Promise.all([locked, valid, find()])
        return profile
      }
      const [, user] = await Promise.all([locked, valid])
      if (keptEmail !== undefined && keptEmail !== user.email) throw guardChanged()
      if (newEmail) await changeEmail(db, user, newEmail, caller)
      if (metadata !== undefined) await storeMetadata(db, userid, metadata)
      if (language !== undefined) await users.setProperty(userid, LANGUAGE_PROPERTY, language)
      if (metadata !== undefined || language !== undefined) await users.touch(userid)
      return find()
    })

  return async (
    { currentPassword, ...given }: GivenProfile & { currentPassword?: string | undefined },
    client: LoggedInClient,
  ): Promise<ProfileRecord> => {
    const findPresent = async () =>
      toProfile(await getProfile(core, config.reset, client.claims.sub), config.profile.properties)
    const change = await findProfileChange(given, findPresent)
    const { email } = change
    if (email === undefined) return store(client, change)
    return guardEmailChange(client, { email, currentPassword }, (proof) =>
      store(client, change, { email, proof }),
    )
  }
}

/** Merges a patch into the metadata of a user whom the transaction has locked. */
async function storeMetadata(transaction: Transaction, userid: string, patch: Metadata): Promise<void> {
  const repository = createMetadataRepository(transaction)
  const merged = mergeMetadata(await repository.find(userid), patch)
  const message = findMetadataFault(merged)
  if (message) throw invalidMembers([{ path: 'metadata', message }])
  await repository.store(userid, merged)
}
