import { z } from 'zod'

/** The response of `/login` and `/refreshtoken`. */
export const TokenResponse = z
  .object({
    token: z.string().describe('JWT, HS512. Send it as `Authorization: Bearer <token>`.'),
    data: z.object({ userid: z.guid(), name: z.string(), role: z.string() }),
  })
  .meta({ id: 'Token' })
