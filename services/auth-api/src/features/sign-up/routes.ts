import { givenPasswordSchema, newPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { displayName, isOwnUsername, username } from '@latchkey/shared/users/account-names.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { LANGUAGES } from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import type { Config } from '../../config.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { LoginResponse, rememberSchema, toRefreshForm } from '../../tokens/token-response.ts'
import { requestTokenSchema, sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { createConfirmSignUp } from './confirm-sign-up.ts'
import { createRequestSignUp } from './request-sign-up.ts'

const EMAIL = 'ada@example.com'
const TOKEN = 'kq3t0bV7mYb8bFZ1Cw2nUj5xTg9rQeLs4hPzVdMi6oA'

const OTHERS_EMAIL = { path: ['username'], error: 'must not be the e-mail of another account' }

const hasOwnUsername = ({ email, username }: { email: string; username?: string | undefined }): boolean =>
  username === undefined || isOwnUsername(username, email)

/** Users choose a username where they log in by it. Elsewhere they may leave it out. */
const signUpBody = (field: Config['login']['field']) =>
  z
    .object(
      {
        name: displayName().optional(),
        email: emailAddress(),
        username: (field === 'username' ? username() : username().optional()) as z.ZodType<
          string | undefined
        >,
        password: newPasswordSchema(),
        language: z
          .enum(LANGUAGES, `must be one of ${LANGUAGES.join(', ')}`)
          .optional()
          .describe('The language of the mails; `en` by default.'),
      },
      'must be a JSON object',
    )
    .refine(hasOwnUsername, OTHERS_EMAIL)
    .meta({
      id: 'SignUp',
      examples: [{ name: 'Ada', email: EMAIL, username: 'ada', password: 'c0rrect-Horse!', language: 'en' }],
    })

const SignUpToken = z
  .object({ token: z.string().describe('Identifies this sign-up; it is not an access token.') })
  .meta({ id: 'SignUpToken', examples: [{ token: TOKEN }] })

const SignUpConfirmationBody = z
  .object(
    {
      email: emailAddress(),
      code: sixDigitCodeSchema(),
      token: requestTokenSchema().describe(
        'The token that the sign-up returned, or that of the link of the mail.',
      ),
      password: givenPasswordSchema()
        .optional()
        .describe('The password of the sign-up, which the token of a link needs.'),
      username: username()
        .optional()
        .describe('Another username, if the one that was sent with the sign-up has been taken.'),
      remember: rememberSchema(),
    },
    'must be a JSON object',
  )
  .refine(hasOwnUsername, OTHERS_EMAIL)
  .meta({ id: 'SignUpConfirmation', examples: [{ email: EMAIL, code: '042711', token: TOKEN }] })

/** Adds the two steps of a sign-up, where SIGN_UP is `on`. */
export const signUpRoutes: FeatureRoutes = async (app, { core, config }) => {
  if (config.signUp.mode !== 'on') return
  const requestSignUp = createRequestSignUp(core, config)
  const confirmSignUp = createConfirmSignUp(core, config.reset)

  app.post(
    '/signup',
    {
      problems: ['password_refused', 'signup_refused', 'overloaded'],
      schema: {
        operationId: 'signUp',
        summary: 'Request a code for a new account',
        description:
          'Only where SIGN_UP is `on`. The response is the same whether the e-mail is free or taken; a mail tells which. 422 `signup-refused` says that SIGN_UP_DOMAINS does not contain the domain.',
        tags: ['sign-up'],
        body: signUpBody(config.login.field),
        response: { 202: SignUpToken },
      },
    },
    async (request, reply) => {
      const token = await requestSignUp(request.body, core.clientOf(request))
      return reply.code(202).send({ token })
    },
  )

  app.post(
    '/signup/confirm',
    {
      config: { usesRefreshCookie: true },
      problems: ['signup_refused', 'wrong_password', 'username_taken', 'overloaded'],
      schema: {
        operationId: 'confirmSignUp',
        summary: 'Create the account by the code of the mail',
        description:
          'The code and the token of one sign-up belong together. RESET_ATTEMPTS codes may be tried. After 409 `username-taken`, the same code works with another username.',
        tags: ['sign-up'],
        body: SignUpConfirmationBody,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { remember, ...confirmation } = request.body
      const given = { ...confirmation, remember: toRefreshForm(remember) }
      return core.answerLogin(reply, await confirmSignUp(given, core.clientOf(request)))
    },
  )
}
