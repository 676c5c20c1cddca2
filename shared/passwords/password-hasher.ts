import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { Piscina } from 'piscina'
import { AppError } from '../app-error.ts'
import { createFairQueue, type HashClient } from './fair-queue.ts'
import type { HashTask, Verification, VerifyTask } from './hash-thread.ts'
import { ACCEPTED_BY_DEFAULT } from './scheme-names.ts'
import { verifyAtOnce } from './verify-at-once.ts'

export interface PasswordHasherOptions {
  /** The scheme of new hashes, by its name in the registry. */
  scheme: string
  /** Further schemes of stored hashes, each of which adds its work to every refusal. Default: sha1 and argon2id. */
  accepted?: readonly string[]
  /** Hashes computed at the same time. Default: the number of cores. */
  concurrency?: number | undefined
  /** Calls that may wait for a free thread; one of any more is refused. With 0 none may wait. */
  queueLimit: number
  /** Receives how long each call has waited for a thread, in seconds. */
  onStarted?: (waitedSeconds: number) => void
}

/** The error for a call when no thread and no place in the queue is free. */
export const tooManyWaiting = () =>
  new AppError('overloaded', 'Too many logins are waiting; try again shortly', { retryAfterSeconds: 1 })

/** For a call whose request may have been given up: an error of the pool would be logged as a fault. */
const stopping = () =>
  new AppError('overloaded', 'The service is stopping; try again shortly', { retryAfterSeconds: 1 })

/** The calls of a hasher at this moment. */
export interface HasherUsage {
  running: number
  waiting: number
}

interface Call {
  task: HashTask
  /** In milliseconds of `performance.now`. */
  calledAt: number
  resolve: (result: string | Verification) => void
  reject: (error: unknown) => void
}

/** The client of calls that no request causes. */
const OPERATOR: HashClient = { address: '', standing: 'known' }

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Hashes and verifies passwords in separate threads with a low priority. In libuv's pool, WebCrypto, and with it the
 * signature check of every token, would wait behind the hashes. Throws `overloaded` for a call that finds neither a
 * thread nor a place in the queue, or loses its place to a call of another client; see `createFairQueue`.
 */
export function createPasswordHasher({
  scheme,
  accepted = ACCEPTED_BY_DEFAULT,
  concurrency = availableParallelism(),
  queueLimit,
  onStarted = () => undefined,
}: PasswordHasherOptions) {
  let threads: ReturnType<typeof startThreads> | undefined
  const verified = [...new Set([...accepted, scheme])]
  const waiting = createFairQueue<Call>(queueLimit)
  let running = 0
  let isClosed = false

  async function start({ task, calledAt, resolve, reject }: Call): Promise<void> {
    running++
    onStarted((performance.now() - calledAt) / 1000)
    threads ??= startThreads(concurrency)
    await threads.run(task).then(resolve, (error) => reject(isClosed ? stopping() : error))
    running--
    const next = waiting.take()
    if (next) void start(next)
  }

  const run = (task: HashTask, client: HashClient): Promise<string | Verification> =>
    new Promise((resolve, reject) => {
      const call = { task, calledAt: performance.now(), resolve, reject }
      if (isClosed) return reject(stopping())
      // The pool's own queue stays empty: it has one order for all clients.
      if (running < concurrency) void start(call)
      else waiting.add(call, client)?.reject(tooManyWaiting())
    })

  /** Where no thread is free, a password is not compared: the guess of a refused call would be neither counted nor slow. */
  function verifyHere(task: VerifyTask): Verification | undefined {
    if (isClosed || running >= concurrency) return undefined
    const verification = verifyAtOnce(task)
    if (verification) onStarted(0)
    return verification
  }

  return {
    /** Starts the threads, which the first call does otherwise. */
    start(): void {
      threads ??= startThreads(concurrency)
    },
    hash: (password: string, client = OPERATOR): Promise<string> =>
      run({ kind: 'hash', scheme, password }, client) as Promise<string>,
    /** `stored` is undefined for an unknown user, which takes as long as a wrong password. */
    async verify(password: string, stored: string | undefined, client = OPERATOR): Promise<Verification> {
      const task: VerifyTask = { kind: 'verify', scheme, accepted: verified, password, stored }
      return verifyHere(task) ?? ((await run(task, client)) as Verification)
    },
    usage: (): HasherUsage => ({ running, waiting: waiting.size() }),
    /** Refuses the calls that have not ended, and every later one. */
    async close(): Promise<void> {
      isClosed = true
      for (let call = waiting.take(); call; call = waiting.take()) call.reject(stopping())
      await threads?.close()
    },
  }
}

const startThreads = (count: number) =>
  new Piscina<HashTask, string | Verification>({
    filename: join(import.meta.dirname, 'hash-thread.ts'),
    minThreads: count,
    maxThreads: count,
    niceIncrement: 10,
    // A thread has its own heap, and a hash leaves little garbage.
    resourceLimits: { maxYoungGenerationSizeMb: 1 },
  })
