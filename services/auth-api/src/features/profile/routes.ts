import { AppError } from '@latchkey/shared/app-error.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { boundedText } from '@latchkey/shared/users/storable-text.ts'
import { LANGUAGES, MAX_LENGTH, type User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { Profile, toProfile } from './profile.ts'
import type { ProfileChange } from './update-profile.ts'

const ProfileUpdate = z
  .object(
    {
      name: boundedText(MAX_LENGTH.name).optional(),
      email: emailAddress().optional(),
      language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).optional(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'ProfileUpdate', examples: [{ name: 'Ada Lovelace', language: 'fr' }] })

export interface ProfileRoutesOptions {
  users: Pick<UserRepository, 'findById'>
  /** The names of the properties that a profile shows; `*` for all but internal ones. */
  shownProperties: readonly string[]
  /** `request` identifies the client, whose refused changes of e-mail are limited. */
  updateProfile: (request: FastifyRequest, change: ProfileChange) => Promise<User | undefined>
}

export const profileRoutes: FastifyPluginAsyncZod<ProfileRoutesOptions> = async (
  app,
  { users, shownProperties, updateProfile },
) => {
  app.get(
    '/profile',
    {
      auth: 'authenticated',
      schema: {
        operationId: 'getProfile',
        summary: "The caller's own profile",
        description: 'Times are in UTC. Internal properties are not shown.',
        tags: ['profile'],
        response: { 200: Profile },
      },
    },
    async (request) => present(await users.findById(request.jwt.sub), shownProperties),
  )

  app.put(
    '/profile',
    {
      auth: 'authenticated',
      problems: ['email_taken'],
      schema: {
        operationId: 'updateProfile',
        summary: "Change the caller's name, e-mail or language",
        description: 'Only the given fields change. A change of e-mail ends open password resets.',
        tags: ['profile'],
        body: ProfileUpdate,
        response: { 200: Profile },
      },
    },
    async (request) => present(await updateProfile(request, request.body), shownProperties),
  )
}

function present(user: User | undefined, shownProperties: readonly string[]): Profile {
  // Deleted since the token was checked.
  if (!user || user.deletedAt) throw new AppError('invalid_token', 'The user of this token no longer exists')
  return toProfile(user, shownProperties)
}
