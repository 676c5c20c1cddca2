import type { ClientTrust } from '@latchkey/shared/passwords/fair-queue.ts'
import type { PasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import type { AuditTrail } from '../audit/audit-trail.ts'
import { createRequestAudit, type RequestAudit } from '../audit/request-audit.ts'
import type { LimitedClient } from '../limits/limit-keys.ts'
import type { LoginClient } from '../limits/login-limiter.ts'
import type { Caller, Claims } from '../tokens/claims.ts'
import { addressOf } from './client-address.ts'

/** The sender of a request. */
export interface Client extends LoginClient {
  audit: RequestAudit
}

/** The sender of a request with a token. */
export type LoggedInClient = Client & Caller

/** The members of a request that tell its sender. */
export interface ClientRequest {
  ip: string
  id: string
  headers: { 'user-agent'?: string | undefined }
  raw: { socket: { destroyed: boolean } }
}

/** Creates the functions that say who sent a request, and hash passwords for that client. */
export function createClients(
  trail: Pick<AuditTrail, 'report' | 'write'>,
  passwords: Pick<PasswordHasher, 'hash'>,
) {
  const auditOf = (request: Omit<ClientRequest, 'raw'>): RequestAudit =>
    createRequestAudit(trail, {
      address: addressOf(request),
      agent: describeAgent(request.headers['user-agent']),
      requestId: request.id,
    })
  function clientOf(request: ClientRequest): Client {
    const audit = auditOf(request)
    return { address: audit.address, hasLeft: () => request.raw.socket.destroyed, audit }
  }
  return {
    auditOf,
    clientOf,
    loggedInClientOf: (request: ClientRequest & { jwt: Claims }): LoggedInClient => ({
      ...clientOf(request),
      claims: request.jwt,
    }),
    hashFor:
      ({ address }: LimitedClient, trust: ClientTrust) =>
      (password: string): Promise<string> =>
        passwords.hash(password, { address, trust }),
  }
}

/** Makes the text that a client sends as User-Agent safe to store and to show: it can contain nothing that moves other text. */
const describeAgent = (userAgent = ''): string => userAgent.replace(/[^ -~]+/g, '').slice(0, 200)
