import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { createMailedCodeRepository } from '@latchkey/shared/users/mailed-code-repository.ts'
import { z } from 'zod'
import { createOutcomeCounter } from '../../http/count-outcome.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { ADMISSION_PROBLEMS } from '../../tokens/require-admitted.ts'
import { LoginResponse, rememberSchema, toRefreshForm } from '../../tokens/token-response.ts'
import { requestTokenSchema, sixDigitCodeSchema } from '../one-time-codes/code-schemas.ts'
import { createRequestUserCode } from '../one-time-codes/request-user-code.ts'
import { createConfirmLoginCode } from './confirm-login-code.ts'

const EMAIL = 'ada@example.com'
const TOKEN = 'kq3t0bV7mYb8bFZ1Cw2nUj5xTg9rQeLs4hPzVdMi6oA'

const LoginCodeRequest = z
  .object({ email: emailAddress() }, 'must be a JSON object')
  .meta({ id: 'LoginCodeRequest', examples: [{ email: EMAIL }] })

const LoginCodeToken = z
  .object({ token: z.string().describe('Identifies this request; it is not an access token.') })
  .meta({ id: 'LoginCodeToken', examples: [{ token: TOKEN }] })

const LoginCodeConfirmation = z
  .object(
    {
      email: emailAddress(),
      token: requestTokenSchema().describe(
        'The token that the request returned, or that of the link of the mail.',
      ),
      code: sixDigitCodeSchema(),
      remember: rememberSchema(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'LoginCodeConfirmation', examples: [{ email: EMAIL, token: TOKEN, code: '042711' }] })

/** Adds the two steps of a login by a mailed code, where LOGIN_BY_MAIL is `on`. */
export const mailLoginRoutes: FeatureRoutes = async (app, { core, config }) => {
  if (config.login.byMail !== 'on') return
  const requestCode = createRequestUserCode(core, {
    template: 'login-code',
    event: 'login_code.requested',
    secrets: core.codeSecrets.login,
    limit: core.limitLoginCodes,
    ttlSeconds: config.reset.ttlSeconds,
    insert: (db, code, now) => createMailedCodeRepository(db, 'login').insert(code, now),
    linkTo: ({ id, email, code }) => core.mailLink('login', { email, code, token: id }),
  })
  const confirmCode = createConfirmLoginCode(core, config)
  const count = createOutcomeCounter(core.registry, ['requested', 'confirmed'], {
    name: 'latchkey_mail_logins_total',
    help: 'Steps of logins by a mailed code by outcome; a request for an unknown e-mail succeeds too',
    label: 'step',
  })

  app.post(
    '/login/code',
    {
      schema: {
        operationId: 'requestLoginCode',
        summary: 'Request a code to log in with',
        description:
          'Only where LOGIN_BY_MAIL is `on`. The response is the same whether the e-mail is known or not.',
        tags: ['login'],
        body: LoginCodeRequest,
        response: { 200: LoginCodeToken },
      },
    },
    async (request) => ({
      token: await count('requested', requestCode(request.body.email, core.clientOf(request))),
    }),
  )

  app.post(
    '/login/code/confirm',
    {
      problems: [
        'login_code_refused',
        ...(core.challenges ? (['second_factor_required'] as const) : []),
        ...ADMISSION_PROBLEMS,
      ],
      schema: {
        operationId: 'confirmLoginCode',
        summary: 'Exchange a mailed code for a token',
        description:
          'The code and the token of one request belong together. RESET_ATTEMPTS codes may be tried. The token has `email` in `amr`.',
        tags: ['login'],
        body: LoginCodeConfirmation,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { remember, ...confirmation } = request.body
      const given = { ...confirmation, remember: toRefreshForm(remember) }
      return core.answerLogin(reply, await count('confirmed', confirmCode(given, core.clientOf(request))))
    },
  )
}
