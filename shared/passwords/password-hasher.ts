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
  /** Hashes that may wait for a thread; beyond it a call is refused. */
  queueLimit: number
}

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Hashes and verifies passwords in threads of its own. They are not libuv's pool, which WebCrypto, and so the
 * signature check of every token, would then have to queue for; and they yield to the event loop's thread.
 * Throws `overloaded` when `queueLimit` calls already wait.
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
    maxQueue: queueLimit,
    niceIncrement: 10,
  })

  async function run(task: HashTask): Promise<string | Verification> {
    if (threads.queueSize >= queueLimit) {
      throw new AppError('overloaded', 'Too many logins are waiting; try again shortly', {
        retryAfterSeconds: 1,
      })
    }
    return threads.run(task)
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
