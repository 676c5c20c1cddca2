import type { FastifyRequest } from 'fastify'
import type { CreateCounter } from './counters.ts'
import { addressKey, pairKey } from './limit-keys.ts'

/** From which addresses logins to an account have succeeded. */
export interface KnownClients {
  remember(request: FastifyRequest, account: string): Promise<void>
  has(request: FastifyRequest, account: string): Promise<boolean>
}

const REMEMBERED_MS = 30 * 24 * 60 * 60 * 1000

/** Remembers for 30 days, in Redis where limits are counted there, else in this process. */
export function createKnownClients(
  createCounter: CreateCounter,
  accountKey: (account: string) => string,
): KnownClients {
  const successes = createCounter('known', REMEMBERED_MS)
  const keyOf = (request: FastifyRequest, account: string) =>
    pairKey(addressKey(request), accountKey(account))
  return {
    async remember(request, account) {
      await successes.count(keyOf(request, account))
    },
    has: async (request, account) => (await successes.read(keyOf(request, account))).current > 0,
  }
}
