import { z } from 'zod'

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
    examples: [
      {
        token: 'eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIwMTk4In0.c2lnbmF0dXJl',
        data: { userid: '01985f0c-5a2e-7d41-9c3b-2f6f0a8f3c11', name: 'Ada', role: 'user' },
      },
    ],
  })
