import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Claims } from './claims.ts'

/** The sender of a request with a token. */
export interface Caller {
  claims: Claims
  audit: RequestAudit
}
