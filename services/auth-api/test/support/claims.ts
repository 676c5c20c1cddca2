import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { Claims } from '../../src/tokens/claims.ts'

const { userid } = ada()

/** The claims of Ada's token, which is valid from 1,000 s to 4,600 s, but for what is given. */
export const someClaims = (given: Partial<Claims> = {}): Claims => ({
  iss: 'http://localhost',
  sub: userid,
  iat: 1_000,
  nbf: 1_000,
  exp: 4_600,
  jti: 'one',
  sid: 'session',
  auth_time: 1_000,
  valid_from: 1_000,
  data: { userid, name: 'Ada', role: 'user' },
  ...given,
})
