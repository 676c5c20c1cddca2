import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import type { Counted } from './counters.ts'

export interface AttemptTurnsOptions {
  /** Failures of an address, at most. */
  limit: number
  /** Attempts of an address that may wait for others. */
  maxWaiting: number
  readFailures: (address: string) => Promise<Counted>
}

/** The pending attempts of an address. */
interface Pending {
  /** Attempts that wait, in the order in which they begin. */
  waiting: ((failures: Counted) => void)[]
  /** Attempts that run; each resolves when its attempt has ended. */
  running: Set<Promise<void>>
}

/**
 * Lets the attempts of an address begin in the order of their arrival, as many at once as could fail without exceeding the
 * limit: forty concurrent guesses gain nothing over forty sequential ones, and forty correct logins all succeed. An attempt
 * receives the failures of its address so far. Throws `overloaded` where too many wait.
 */
export function createAttemptTurns({ limit, maxWaiting, readFailures }: AttemptTurnsOptions) {
  const addresses = new Map<string, Pending>()

  return <Result>(address: string, attempt: (failures: Counted) => Promise<Result>): Promise<Result> => {
    const pending = addresses.get(address) ?? { waiting: [], running: new Set() }
    // In a longer queue every client would have given up before its password is hashed.
    if (pending.waiting.length + pending.running.size >= limit + maxWaiting) throw tooManyWaiting()
    addresses.set(address, pending)
    return new Promise((resolve, reject) => {
      const begin = (failures: Counted) => {
        const ended = attempt(failures)
          .then(resolve, reject)
          .then(() => {
            pending.running.delete(ended)
            if (pending.running.size + pending.waiting.length === 0) addresses.delete(address)
          })
        pending.running.add(ended)
      }
      if (pending.waiting.push(begin) === 1) void beginWaiting(address, pending)
    })
  }

  /** Runs from the first attempt that waits until none does. */
  async function beginWaiting(address: string, { waiting, running }: Pending): Promise<void> {
    while (waiting.length > 0) {
      // Listed before the failures are read: an attempt that ends in between counts once at least.
      const earlier = [...running]
      const failures = await readFailures(address)
      const mayFail = limit - failures.count - earlier.length
      if (failures.count >= limit) for (const begin of waiting.splice(0)) begin(failures)
      else if (mayFail > 0) for (const begin of waiting.splice(0, mayFail)) begin(failures)
      else await Promise.race(earlier)
    }
  }
}

/** Runs works in the order of their arrival, one at a time for each key. */
export function createKeyedMutex() {
  const lastOf = new Map<string, Promise<unknown>>()

  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const earlier = lastOf.get(key)
    const result = earlier ? earlier.then(work) : work()
    const ended = result.catch(() => undefined)
    lastOf.set(key, ended)
    await ended
    if (lastOf.get(key) === ended) lastOf.delete(key)
    return result
  }
}
