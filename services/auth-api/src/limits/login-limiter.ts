import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import { createFailureLimiter, type FailureLimiterOptions } from './failure-limiter.ts'
import type { KnownAddresses } from './known-addresses.ts'
import type { LimitedClient } from './limit-keys.ts'

/** The sender of a password. */
export interface LoginClient extends LimitedClient {
  /** Returns true once nobody waits for the answer any more. */
  hasLeft: () => boolean
}

export interface LoginLimiterOptions extends Omit<FailureLimiterOptions, 'name' | 'countedErrors'> {
  knownAddresses: KnownAddresses
}

/**
 * Runs a login, or a check of the current password, unless too many have failed, and counts it when the password is
 * wrong. Throws `rate_limited`, and `overloaded` when too many logins of the address wait.
 */
export type LimitLogin = <Result>(
  client: LoginClient,
  account: string,
  logIn: (hashClient: HashClient) => Promise<Result>,
) => Promise<Result>

/** Limits failed logins by address and by account, and remembers the addresses whose logins succeed. */
export function createLoginLimiter({ knownAddresses, ...options }: LoginLimiterOptions): LimitLogin {
  const { accountKey } = options
  const countedErrors = ['invalid_credentials', 'wrong_password'] as const
  const limitFailures = createFailureLimiter({ ...options, name: 'login', countedErrors })

  return (client, account, logIn) =>
    limitFailures(client, account, async () => {
      const result = await logIn({
        address: client.address,
        account: accountKey(account),
        trust: (await knownAddresses.has(client, account)) ? 'known' : 'other',
        // Under an overload clients give up and come back. A hash for a client that has left delays the others.
        hasLeft: client.hasLeft,
      })
      await knownAddresses.remember(client, account)
      return result
    })
}
