import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import {
  currentPasswordSchema,
  givenPasswordSchema,
  newPasswordSchema,
} from '@latchkey/shared/passwords/password-policy.ts'
import { displayName, username } from '@latchkey/shared/users/account-names.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { findMetadataFault } from '@latchkey/shared/users/metadata.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { LoginResponse } from '../../tokens/token-response.ts'
import { sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { createChangePassword } from './change-password.ts'
import { changeUsername } from './change-username.ts'
import { createConfirmEmailChange } from './confirm-email-change.ts'
import { deleteAccount } from './delete-account.ts'
import { getProfile } from './get-profile.ts'
import { chooseLanguage, describePolicy } from './password-policy.ts'
import { Profile, toProfile } from './profile.ts'
import { createUpdateProfile } from './update-profile.ts'

const ProfileUpdate = z
  .looseObject(
    {
      name: displayName().nullable().optional(),
      email: emailAddress().nullable().optional(),
      current_password: givenPasswordSchema()
        .optional()
        .describe(
          'Required to change the e-mail where EMAIL_CHANGE is `confirmed` and the user has a password.',
        ),
      language: z.enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`).optional(),
      metadata: z
        .record(z.string(), z.unknown(), 'must be a JSON object')
        .superRefine((patch, context) => {
          const message = findMetadataFault(patch)
          if (message) context.addIssue({ code: 'custom', message })
        })
        .optional()
        .describe(
          'Merged into the present metadata as RFC 7396 says: null removes a member. At most 8 KiB of JSON after that.',
        ),
    },
    'must be a JSON object',
  )
  .meta({
    id: 'ProfileUpdate',
    examples: [{ name: 'Ada Lovelace', language: 'fr', metadata: { theme: 'dark' } }],
  })

const EmailConfirmation = z
  .object({ code: sixDigitCodeSchema() }, 'must be a JSON object')
  .meta({ id: 'EmailConfirmation', examples: [{ code: '123456' }] })

const PasswordChangeBody = z
  .object(
    {
      current_password: currentPasswordSchema(),
      password: newPasswordSchema(),
    },
    'must be a JSON object',
  )
  .meta({
    id: 'PasswordChange',
    examples: [{ current_password: 'c0rrect-Horse!', password: 'N3w-p4ssw0rd!' }],
  })

const UsernameChangeBody = z
  .object({ current_password: currentPasswordSchema(), username: username() }, 'must be a JSON object')
  .meta({ id: 'UsernameChange', examples: [{ current_password: 'c0rrect-Horse!', username: 'ada' }] })

const AccountDeletion = z
  .object(
    {
      current_password: currentPasswordSchema(),
      erase: z
        .boolean('must be true or false')
        .optional()
        .describe(
          'Erases the data for ever, after ERASURE_DAYS. Default: true where ACCOUNT_DELETION is `erase`, else false.',
        ),
    },
    'must be a JSON object',
  )
  .meta({ id: 'AccountDeletion', examples: [{ current_password: 'c0rrect-Horse!' }] })

const PolicyResponse = z
  .object({
    rules: z.array(
      z.object({
        rule: z.string().describe('The name of the rule: its setting, or MAXIMUM_CHARS or MAXIMUM_BYTES.'),
        number: z
          .int()
          .describe('The number of characters that are required or allowed; 0 where none is allowed.'),
        text: z.string().describe('The requirement of the rule, in the language of the response.'),
      }),
    ),
  })
  .meta({
    id: 'PasswordPolicy',
    examples: [{ rules: [{ rule: 'MINIMUM_CHARS', number: 12, text: 'At least 12 characters.' }] }],
  })

/**
 * Adds the profile, its changes, the password with its policy and, where ACCOUNT_DELETION is not `off`, the deletion of the
 * account.
 */
export const accountRoutes: FeatureRoutes = async (app, { core, config }) => {
  const { loggedInClientOf } = core
  const shownProperties = config.profile.properties
  const updateProfile = createUpdateProfile(core, config)
  const confirmEmailChange = createConfirmEmailChange(core, config.reset)
  const changePassword = createChangePassword(core, config.policy)
  // Users who have a second factor show it again for these.
  const freshFactorProblems: ErrorCode[] =
    config.secondFactor.mode === 'on' ? ['insufficient_user_authentication'] : []

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
    async (request) => toProfile(await getProfile(core, config.reset, request.jwt.sub), shownProperties),
  )

  app.put(
    '/profile',
    {
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'email_taken', 'wrong_password', 'overloaded'],
      schema: {
        operationId: 'updateProfile',
        summary: "Change the caller's name, e-mail, language or metadata",
        description:
          'Only the given fields change. A member that is not stored is refused by its name, unless it has its present value: what `GET /profile` answers can be sent back. A change of e-mail ends open password resets and all tokens but the one of this request. Where EMAIL_CHANGE is `confirmed`, it requires the current password, and takes place once the code of a mail to the new address is confirmed.',
        tags: ['profile'],
        body: ProfileUpdate,
        response: { 200: Profile },
      },
    },
    async (request) => {
      const { name, email, language, metadata, current_password: currentPassword, ...others } = request.body
      const given = { name, email, language, metadata, others, currentPassword }
      return toProfile(await updateProfile(given, loggedInClientOf(request)), shownProperties)
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
    async (request) => {
      return toProfile(
        await confirmEmailChange(request.body.code, loggedInClientOf(request)),
        shownProperties,
      )
    },
  )

  if (config.login.field === 'username')
    app.put(
      '/profile/username',
      {
        auth: 'authenticated',
        problems: [...freshFactorProblems, 'wrong_password', 'username_taken', 'overloaded'],
        schema: {
          operationId: 'changeUsername',
          summary: "Change the caller's username",
          description:
            'Only where LOGIN_FIELD is `username`. The next login needs the new one. RATE_LIMIT_RESET limits the changes, each of which the user is told by mail.',
          tags: ['profile'],
          body: UsernameChangeBody,
          response: { 204: z.undefined().describe('The username is changed.') },
        },
      },
      async (request, reply) => {
        const { current_password: currentPassword, username } = request.body
        await changeUsername(core, { currentPassword, username }, loggedInClientOf(request))
        reply.code(204)
      },
    )

  app.put(
    '/profile/password',
    {
      config: { usesRefreshCookie: true },
      auth: 'authenticated',
      problems: [...freshFactorProblems, 'wrong_password', 'password_refused', 'overloaded'],
      schema: {
        operationId: 'changePassword',
        summary: "Change the caller's password",
        description:
          'Ends every token of the user, the one of this request too; the response has a new one, and a new refresh token or cookie where the session has one. A wrong current password counts as a failed login.',
        tags: ['profile'],
        body: PasswordChangeBody,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { current_password: currentPassword, password } = request.body
      const change = { currentPassword, password }
      return core.answerLogin(reply, await changePassword(change, loggedInClientOf(request)))
    },
  )

  if (config.profile.deletion !== 'off')
    app.post(
      '/profile/delete',
      {
        auth: 'authenticated',
        problems: [...freshFactorProblems, 'wrong_password', 'last_admin', 'overloaded'],
        schema: {
          operationId: 'deleteAccount',
          summary: "Delete the caller's account",
          description:
            'Only where ACCOUNT_DELETION is `on` or `erase`. Ends every token and code of the user, who gets a mail. An admin can restore the account, with `erase` until ERASURE_DAYS have passed: then nothing of the person is left, and the e-mail can sign up again. The only user with the role admin cannot be erased. A wrong password counts as a failed login.',
          tags: ['profile'],
          body: AccountDeletion,
          response: { 204: z.undefined().describe('The account is deleted.') },
        },
      },
      async (request, reply) => {
        const { current_password: currentPassword, erase = config.profile.deletion === 'erase' } =
          request.body
        await deleteAccount(core, config.profile, { currentPassword, erase }, loggedInClientOf(request))
        reply.code(204)
      },
    )

  app.get(
    '/password-policy',
    {
      schema: {
        operationId: 'getPasswordPolicy',
        summary: 'The rules for a new password',
        description:
          'The `violations` of the problem `password-refused` name the same rules. The sentences are in English, French or Portuguese, as Accept-Language says.',
        tags: ['profile'],
        response: { 200: PolicyResponse },
      },
    },
    async (request, reply) => {
      const language = chooseLanguage(request.headers['accept-language'])
      reply.header('content-language', language)
      return { rules: describePolicy(config.policy, language) }
    },
  )
}
