import type { Verification, VerifyTask } from './hash-thread.ts'
import { getScheme } from './schemes.ts'

/**
 * Verifies on the event loop what takes microseconds there. Undefined where a hashing thread has to decide: it does the
 * work of every refusal. Each call does the same work, whatever is stored.
 */
export function verifyAtOnce({ scheme, password, stored }: VerifyTask): Verification | undefined {
  const own = getScheme(scheme)
  if (!own.isCheap) return undefined
  if (stored !== undefined && own.recognises(stored))
    return own.verify(password, stored) ? { matches: true } : undefined
  own.completeRefusal(password)
  return undefined
}
