import type { RequestAudit } from '../../src/audit/request-audit.ts'
import type { Client } from '../../src/http/client.ts'

/** The sender of a request whose audit trail keeps nothing. */
export const aClient = (audit: Partial<RequestAudit> = {}): Client => ({
  address: '192.0.2.1',
  hasLeft: () => false,
  audit: {
    address: '192.0.2.1',
    agent: 'test',
    report: () => undefined,
    write: async () => undefined,
    ...audit,
  },
})
