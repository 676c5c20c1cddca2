import type { RequestAudit } from '../audit/request-audit.ts'
import type { LimitedRequest } from '../limits/limit-keys.ts'
import type { Caller } from '../tokens/claims.ts'

/** The sender of a request. */
export interface Client {
  /** What the limits read of the request. */
  request: LimitedRequest
  audit: RequestAudit
}

/** The sender of a request with a token, in a route whose limits read the request. */
export type LoggedInClient = Client & Caller
