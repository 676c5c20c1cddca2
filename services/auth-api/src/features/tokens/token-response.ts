import { z } from 'zod'

/** What `/login` and `/refreshtoken` answer. */
export const TokenResponse = z
  .object({
    token: z.string().describe('JWT, HS512. Send it as `Authorization: Bearer <token>`.'),
    data: z.object({ userid: z.guid(), name: z.string(), role: z.string() }),
  })
  .meta({ id: 'Token' })
