import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createProfileRepository, type ProfileRecord } from './profile-repository.ts'

/** Reads a user's profile, within a transaction if `db` is one. Throws `invalid_token` for a user who no longer exists. */
export async function getProfile(
  { db, sharedNow }: Pick<Core, 'sharedNow'> & { db: Queryable },
  { attempts }: Pick<Config['reset'], 'attempts'>,
  userid: string,
): Promise<ProfileRecord> {
  const found = await createProfileRepository(db, attempts).find(userid, new Date(sharedNow()))
  // The user may have been deleted after the token was checked.
  if (!found || found.user.deletedAt)
    throw new AppError('invalid_token', 'The user of this token no longer exists', { reason: 'user_gone' })
  return found
}
