import type { ClientTrust, HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import type { FastifyRequest } from 'fastify'
import { createFailureLimiter, type FailureLimiterOptions } from './failure-limiter.ts'
import type { KnownClients } from './known-clients.ts'
import { addressKey } from './limit-keys.ts'
import type { RecentFailures } from './recent-failures.ts'

export interface LoginLimiterOptions extends Omit<FailureLimiterOptions, 'name' | 'failures'> {
  knownClients: KnownClients
}

/**
 * Runs a login, or a check of the current password, unless too many have failed, and counts it when the password is
 * wrong. Throws `rate_limited`, and `overloaded` when too many logins of the address wait.
 */
export type LimitLogin = <Result>(
  request: FastifyRequest,
  account: string,
  logIn: (client: HashClient) => Promise<Result>,
) => Promise<Result>

/** Limits failed logins by address and by account, and remembers the clients whose logins succeed. */
export function createLoginLimiter({ knownClients, ...options }: LoginLimiterOptions): LimitLogin {
  const failures = ['invalid_credentials', 'wrong_password'] as const
  const limitFailures = createFailureLimiter({ ...options, name: 'login', failures })

  async function trustOf(
    request: FastifyRequest,
    account: string,
    failed: RecentFailures | undefined,
  ): Promise<ClientTrust> {
    if (failed && failed.address.current > 0) return 'failed'
    return (await knownClients.has(request, account)) ? 'known' : 'new'
  }

  return (request, account, logIn) =>
    limitFailures(request, account, async (failed) => {
      const trust = await trustOf(request, account, failed)
      // Under an overload clients give up and come back. What nobody waits for delays the others.
      const hasLeft = () => request.raw.socket.destroyed
      const result = await logIn({ address: addressKey(request), trust, hasLeft })
      await knownClients.remember(request, account)
      return result
    })
}
