import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { givenPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { displayName } from '@latchkey/shared/users/account-names.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { LANGUAGES, type User } from '@latchkey/shared/users/user.ts'
import type { FastifyRequest } from 'fastify'
import type { FastifyPluginAsyncZod } from 'fastify-type-provider-zod'
import { z } from 'zod'
import { sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { Profile, toProfile } from './profile.ts'
import type { ProfileRecord } from './profile-repository.ts'
import type { ProfileChange } from './update-profile.ts'

const ProfileUpdate = z
  .object(
    {
      name: displayName().optional(),
      email: emailAddress().optional(),
      current_password: givenPasswordSchema()
        .optional()
        .describe(
          'Required to change the e-mail where EMAIL_CHANGE is `confirmed` and the user has a password.',
        ),
      language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).optional(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'ProfileUpdate', examples: [{ name: 'Ada Lovelace', language: 'fr' }] })

const EmailConfirmation = z
  .object({ code: sixDigitCodeSchema() }, 'must be a JSON object')
  .meta({ id: 'EmailConfirmation', examples: [{ code: '123456' }] })

export interface ProfileRoutesOptions {
  freshFactorProblems: readonly ErrorCode[]
  getProfile: (userid: string) => Promise<ProfileRecord>
  /** The names of the properties that a profile shows; `*` for all but internal ones. */
  shownProperties: readonly string[]
  /** `request` identifies the client, whose refused changes of e-mail are limited. */
  updateProfile: (change: ProfileChange, request: FastifyRequest) => Promise<ProfileRecord>
  confirmEmailChange: (code: string, request: FastifyRequest) => Promise<User>
}

export const profileRoutes: FastifyPluginAsyncZod<ProfileRoutesOptions> = async (
  app,
  { freshFactorProblems, getProfile, shownProperties, updateProfile, confirmEmailChange },
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
    async (request) => toProfile(await getProfile(request.jwt.sub), shownProperties),
  )

  app.put(
    '/profile',
    {
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'email_taken', 'wrong_password', 'overloaded'],
      schema: {
        operationId: 'updateProfile',
        summary: "Change the caller's name, e-mail or language",
        description:
          'Only the given fields change. A change of e-mail ends open password resets and all tokens but the one of this request. Where EMAIL_CHANGE is `confirmed`, it requires the current password, and takes place once the code of a mail to the new address is confirmed.',
        tags: ['profile'],
        body: ProfileUpdate,
        response: { 200: Profile },
      },
    },
    async (request) => {
      const { current_password: currentPassword, ...change } = request.body
      return toProfile(await updateProfile({ ...change, currentPassword }, request), shownProperties)
    },
  )

  app.post(
    '/profile/confirmemail',
    {
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'email_change_refused', 'email_taken'],
      schema: {
        operationId: 'confirmEmail',
        summary: 'Confirm the new e-mail by the code of its mail',
        description:
          'Only where EMAIL_CHANGE is `confirmed`. Ends open password resets and all tokens but the one of this request. RESET_ATTEMPTS wrong codes end the change, and so does a new password.',
        tags: ['profile'],
        body: EmailConfirmation,
        response: { 200: Profile },
      },
    },
    async (request) =>
      toProfile({ user: await confirmEmailChange(request.body.code, request) }, shownProperties),
  )
}
