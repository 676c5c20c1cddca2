import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Piscina } from 'piscina'
import { AppError } from '../app-error.ts'
import type { HashTask, Verification } from './hash-thread.ts'

export interface PasswordHasherOptions {
  /** The scheme of new hashes, by its name in the registry. */
  scheme: string
  /** Hashes computed at the same time. Default: the number of cores. */
  concurrency?: number | undefined
  /** Calls that may wait for a free thread; one more is refused. With 0 none may wait. */
  queueLimit: number
}

/** The error for a call when no thread and no place in the queue is free. */
export const tooManyWaiting = () =>
  new AppError('overloaded', 'Too many logins are waiting; try again shortly', { retryAfterSeconds: 1 })

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Hashes and verifies passwords in separate threads with a low priority. In libuv's pool, WebCrypto, and with it the
 * signature check of every token, would wait behind the hashes. Throws `overloaded` when no thread is free and
 * `queueLimit` calls already wait.
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

  // The pool reports the length of its queue, but not whether a thread is free.
  let pending = 0

  async function run(task: HashTask): Promise<string | Verification> {
    if (pending >= concurrency + queueLimit) throw tooManyWaiting()
    pending++
    try {
      return await threads.run(task)
    } finally {
      pending--
    }
  }

  return {
    hash: (password: string): Promise<string> => run({ kind: 'hash', scheme, password }) as Promise<string>,
    /** `stored` is undefined for an unknown user, which takes as long as a wrong password. */
    verify: (password: string, stored: string | undefined): Promise<Verification> =>
      run({ kind: 'verify', scheme, password, stored }) as Promise<Verification>,
    /** The number of calls that wait for a thread. */
    waiting: (): number => threads.queueSize,
    close: (): Promise<void> => threads.close(),
  }
}
