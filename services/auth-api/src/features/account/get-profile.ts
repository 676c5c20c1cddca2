import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import type { ProfileRecord, ProfileRepository } from './profile-repository.ts'

export interface GetProfileDependencies {
  profiles: ProfileRepository
  sharedNow: Clock
}

/** Creates the function that reads a user's profile. It throws `invalid_token` for a user who no longer exists. */
export const createGetProfile =
  ({ profiles, sharedNow }: GetProfileDependencies) =>
  async (userid: string): Promise<ProfileRecord> =>
    requireProfile(await profiles.find(userid, new Date(sharedNow())))

/** Returns a profile; throws `invalid_token` when its user was deleted after the token was checked. */
export function requireProfile(found: ProfileRecord | undefined): ProfileRecord {
  if (!found || found.user.deletedAt)
    throw new AppError('invalid_token', 'The user of this token no longer exists', { reason: 'user_gone' })
  return found
}
