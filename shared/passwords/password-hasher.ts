import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Piscina } from 'piscina'
import { AppError } from '../app-error.ts'
import type { HashTask, Verification } from './hash-thread.ts'

export interface PasswordHasherOptions {
  /** The scheme of new hashes, by its name in the registry. */
  scheme: string
  /** Hashes computed at the same time; the number of cores when absent. */
  concurrency?: number | undefined
  /** Hashes that may wait while no thread is free; beyond it a call is refused. 0 lets none wait. */
  queueLimit: number
}

/** Refuses who would wait for a hash behind as many as may. */
export const tooManyWaiting = () =>
  new AppError('overloaded', 'Too many logins are waiting; try again shortly', { retryAfterSeconds: 1 })

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Hashes and verifies passwords in threads of its own. They are not libuv's pool, which WebCrypto, and so the
 * signature check of every token, would then have to queue for; and they yield to the event loop's thread.
 * Throws `overloaded` when no thread is free and `queueLimit` calls already wait.
 */
export function createPasswordHasher({
  scheme,
  concurrency = availableParallelism(),
  queueLimit,
}: PasswordHasherOptions) {
  const threads = new Piscina<HashTask, string | Verification>({
    filename: join(import.meta.dirname, 'hash-thread.ts'),
    minThreads: concurrency,
    maxThreads: concurrency,
    niceIncrement: 10,
  })

  // The pool tells how many wait, and not whether a thread is free.
  let inHand = 0

  async function run(task: HashTask): Promise<string | Verification> {
    if (inHand >= concurrency + queueLimit) throw tooManyWaiting()
    inHand++
    try {
      return await threads.run(task)
    } finally {
      inHand--
    }
  }

  return {
    hash: (password: string): Promise<string> => run({ kind: 'hash', scheme, password }) as Promise<string>,
    /** `stored` is undefined for an unknown user, which takes as long as a wrong password does. */
    verify: (password: string, stored: string | undefined): Promise<Verification> =>
      run({ kind: 'verify', scheme, password, stored }) as Promise<Verification>,
    /** How many calls wait for a thread. */
    waiting: (): number => threads.queueSize,
    close: (): Promise<void> => threads.close(),
  }
}
