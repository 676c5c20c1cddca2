import { z } from 'zod'
import type { RefreshForm } from './refresh-token.ts'

const EXAMPLE = {
  token: 'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMTk4In0.c2lnbmF0dXJl',
  data: { userid: '01985f0c-5a2e-7d41-9c3b-2f6f0a8f3c11', name: 'Ada', role: 'user' },
}
export const EXAMPLE_REFRESH_TOKEN = '0XqB9mYk2hVt7sLr-nWcE1uJp6oZa3gDf8iKvQxTyRw'

/** The response of routes that issue a token. */
export const TokenResponse = z
  .object({
    token: z
      .string()
      .describe(
        'A JWT, signed as the security scheme `bearer` says. Send it as `Authorization: Bearer <token>`.',
      ),
    data: z
      .object({ userid: z.guid(), name: z.string(), role: z.string() })
      .describe('The user of the token, as in its claim `data`.'),
  })
  .meta({
    id: 'Token',
    description: 'A token and its user.',
    examples: [EXAMPLE],
  })

/** The response of routes by which a user logs in. */
export const LoginResponse = TokenResponse.extend({
  refresh_token: z
    .string()
    .optional()
    .describe('Where `remember` was true: a secret, which only the refresh and the logout accept.'),
  refresh_expires_at: z
    .string()
    .meta({ format: 'date-time' })
    .optional()
    .describe('The time at which the refresh token, or the cookie, ends unless it is refreshed before.'),
}).meta({
  id: 'Login',
  description: 'A token and its user, and a refresh token where one was asked for.',
  examples: [
    {
      ...EXAMPLE,
      refresh_token: EXAMPLE_REFRESH_TOKEN,
      refresh_expires_at: '2026-03-31T09:30:00.000Z',
    },
  ],
})

/** The member of a body that asks for a session that lasts. */
export const rememberSchema = () =>
  z
    .union([z.boolean(), z.literal('cookie')], 'must be true, false or "cookie"')
    .optional()
    .describe(
      'Asks for a session that lasts: `true` for a `refresh_token` in the response, `"cookie"` for one in a cookie that no script can read.',
    )

/** Returns where the client keeps the refresh token that it asks for. */
export const toRefreshForm = (remember: boolean | 'cookie' | undefined): RefreshForm | undefined =>
  remember === true ? 'body' : remember || undefined
