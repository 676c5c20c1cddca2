import type { AuditTrail } from '../audit/audit-trail.ts'
import {
  type AuditedRequest,
  createRequestAudit,
  describeAgent,
  type RequestAudit,
} from '../audit/request-audit.ts'
import { addressKey, type LimitedRequest } from '../limits/limit-keys.ts'
import type { Caller, Claims } from '../tokens/claims.ts'

/** The sender of a request. */
export interface Client {
  /** What the limits read of the request. */
  request: LimitedRequest
  audit: RequestAudit
}

/** The sender of a request with a token, in a route whose limits read the request. */
export type LoggedInClient = Client & Caller

/** What is read of a request to know its sender. */
export type ClientRequest = AuditedRequest & LimitedRequest

/** Creates the functions that say who sent a request. */
export function createClients(trail: Pick<AuditTrail, 'report' | 'write'>) {
  const auditOf = (request: AuditedRequest): RequestAudit =>
    createRequestAudit(trail, {
      address: addressKey(request),
      agent: describeAgent(request.headers['user-agent']),
      requestId: request.id,
    })
  const clientOf = (request: ClientRequest): Client => ({ request, audit: auditOf(request) })
  return {
    auditOf,
    clientOf,
    loggedInClientOf: (request: ClientRequest & { jwt: Claims }): LoggedInClient => ({
      ...clientOf(request),
      claims: request.jwt,
    }),
  }
}
