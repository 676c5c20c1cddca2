import { z } from 'zod'

/** The specification's claims about the user. An adopted table may contain any 128 bits as an id. */
const UserClaims = z.object({ userid: z.guid(), name: z.string(), role: z.string().min(1) })

/** The whole payload of a Latchkey token (RFC 7519 §4.1 and `data`). Times are seconds since the epoch. */
export const Claims = z.object({
  iss: z.string(),
  sub: z.guid(),
  iat: z.number(),
  nbf: z.number(),
  exp: z.number(),
  jti: z.string(),
  data: UserClaims,
})

export type UserClaims = z.output<typeof UserClaims>
export type Claims = z.output<typeof Claims>
