import { givenPasswordSchema } from '@latchkey/shared/passwords/password-policy.ts'
import { boundedText } from '@latchkey/shared/users/storable-text.ts'
import { MAX_LENGTH } from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import { ADMISSION_PROBLEMS } from '../../tokens/require-admitted.ts'
import { LoginResponse, rememberSchema, toRefreshForm } from '../../tokens/token-response.ts'
import { createLoginCounter } from './count-logins.ts'
import { createLogIn } from './log-in.ts'

/** A character of an e-mail may be typed as a letter and three marks. */
const TYPED_CHARS = 4 * MAX_LENGTH.email

const LoginBody = z
  .object(
    {
      username: boundedText(TYPED_CHARS)
        .min(1, 'must not be empty')
        .describe('The e-mail address or the username, as LOGIN_FIELD says.'),
      password: givenPasswordSchema().min(1, 'must not be empty'),
      remember: rememberSchema(),
    },
    'must be a JSON object',
  )
  .meta({ id: 'Credentials', examples: [{ username: 'ada@example.com', password: 'c0rrect-Horse!' }] })

/** Adds `POST /login`. */
export const loginRoutes: FeatureRoutes = async (app, { core, config }) => {
  const logIn = createLogIn(core, config.login)
  const count = createLoginCounter(core.registry)
  app.post(
    '/login',
    {
      config: { usesRefreshCookie: true },
      problems: [
        'invalid_credentials',
        ...(core.challenges ? (['second_factor_required'] as const) : []),
        ...ADMISSION_PROBLEMS,
        'overloaded',
      ],
      schema: {
        operationId: 'login',
        summary: 'Exchange credentials for a token',
        description:
          'The answer is the same whether the user or the password is wrong. Failed logins are limited by address and by account.',
        tags: ['login'],
        body: LoginBody,
        response: { 200: LoginResponse },
      },
    },
    async (request, reply) => {
      const { remember, ...credentials } = request.body
      const login = { ...credentials, remember: toRefreshForm(remember) }
      return core.answerLogin(reply, await count(logIn(login, core.clientOf(request))))
    },
  )
}
