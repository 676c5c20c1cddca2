import { AppError } from '../errors/app-error.ts'
import { createFairQueue, type HashClient } from './fair-queue.ts'
import { lowerPoolPriority } from './lower-priority.ts'
import { ACCEPTED_BY_DEFAULT } from './password-scheme.ts'
import { getScheme } from './schemes.ts'
import { type Verification, verifyStored } from './verify-stored.ts'

export interface PasswordHasherOptions {
  /** The scheme of new hashes, by its name in the registry. */
  scheme: string
  /** Further schemes of stored hashes, each of which adds its work to every refusal. Default: sha1 and argon2id. */
  accepted?: readonly string[]
  /** Hashes computed at the same time: fewer than libuv's pool has threads, since DNS, files and WebCrypto need some. */
  concurrency: number
  /** Calls that may wait for a free thread; one of any more is refused. With 0 none may wait. */
  queueLimit: number
  /** Receives how long each call has waited for a thread, in seconds. */
  onStarted?: (waitedSeconds: number) => void
}

/** The error for a call when no thread and no place in the queue is free. */
export const tooManyWaiting = () =>
  new AppError('overloaded', 'Too many logins are waiting', { retryAfterSeconds: 1 })

/** The error of a call whose client has left. Nobody receives it; the metrics count a login that waited too long. */
const nobodyWaits = () => new AppError('overloaded', 'The client has left', { retryAfterSeconds: 1 })

/** The error of a call during a stop, whose request may have been given up: another one would be logged as a fault. */
const stopping = () => new AppError('overloaded', 'The service is stopping', { retryAfterSeconds: 1 })

/** The calls of a hasher at this moment. */
export interface HasherUsage {
  running: number
  waiting: number
}

interface Call {
  client: HashClient
  start(): void
  reject(error: AppError): void
}

/** The client of calls that no request causes. */
const OPERATOR: HashClient = { address: '', trust: 'known' }

export type PasswordHasher = ReturnType<typeof createPasswordHasher>

/**
 * Hashes and verifies passwords in libuv's pool. Throws `overloaded` for a call that finds neither a free thread nor a place
 * in the queue, or loses its place to a call of another client; see `createFairQueue`. A call whose client has left when its
 * turn comes is not run.
 */
export function createPasswordHasher({
  scheme,
  accepted = ACCEPTED_BY_DEFAULT,
  concurrency,
  queueLimit,
  onStarted = () => undefined,
}: PasswordHasherOptions) {
  const verified = [...new Set([...accepted, scheme])]
  const waiting = createFairQueue<Call>(queueLimit)
  const running = new Set<Promise<unknown>>()
  let isClosed = false

  const run = <Result>(client: HashClient, work: () => Promise<Result>): Promise<Result> =>
    new Promise((resolve, reject) => {
      const calledAt = performance.now()
      const start = () => {
        onStarted((performance.now() - calledAt) / 1000)
        const result = work()
        running.add(result)
        // The caller's next call finds the thread free.
        result.finally(() => startNext(result)).then(resolve, reject)
      }
      if (isClosed) return reject(stopping())
      // The pool's own queue stays empty: it has one order for all clients.
      if (running.size < concurrency) start()
      // A password is not compared before its turn: the guess of a refused call would be neither counted nor slow.
      else waiting.add({ client, start, reject }, client).refused?.reject(tooManyWaiting())
    })

  function startNext(ended: Promise<unknown>): void {
    running.delete(ended)
    let next = waiting.take()
    while (next?.client.hasLeft?.()) {
      next.reject(nobodyWaits())
      next = waiting.take()
    }
    next?.start()
  }

  return {
    /** Loads the libraries, which the first calls would wait for, and prepares the pool. */
    async start(): Promise<void> {
      await Promise.all([lowerPoolPriority(), ...verified.map((name) => getScheme(name).load?.())])
    },
    /** Throws `overloaded` where a call would be refused now, so that its client's other work can be refused with it. */
    requireRoom(client: HashClient): void {
      if (isClosed) throw stopping()
      if (running.size >= concurrency && !waiting.hasRoom(client)) throw tooManyWaiting()
    },
    hash: (password: string, client = OPERATOR): Promise<string> =>
      run(client, async () => getScheme(scheme).hash(password)),
    /** `stored` is undefined for an unknown user, which takes as long as a wrong password. */
    verify: (password: string, stored: string | undefined, client = OPERATOR): Promise<Verification> =>
      run(client, async () => {
        const verification = await verifyStored(password, stored, { scheme, accepted: verified })
        if (verification.matches) waiting.countSuccessfulLogin(client)
        return verification
      }),
    usage: (): HasherUsage => ({ running: running.size, waiting: waiting.size() }),
    /** Refuses the calls that wait, and every later one; returns when the others have ended. */
    async close(): Promise<void> {
      isClosed = true
      for (let call = waiting.take(); call; call = waiting.take()) call.reject(stopping())
      await Promise.allSettled(running)
    },
  }
}
