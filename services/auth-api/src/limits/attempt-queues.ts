import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import fastq, { type queueAsPromised } from 'fastq'

type Work = () => Promise<void>

/**
 * Creates a queue of attempts for each key. The attempts of a key begin in the order of their arrival: one at a time, unless
 * one of them allows more at once. Throws `overloaded` for an attempt that finds `maxPending` others.
 */
export function createAttemptQueues(maxPending = Number.POSITIVE_INFINITY) {
  const queues = new Map<string, queueAsPromised<Work>>()

  return async <Result>(
    key: string,
    attempt: (allowAtOnce: (atOnce: number) => void) => Promise<Result>,
  ): Promise<Result> => {
    const queue = queues.get(key) ?? fastq.promise((work: Work) => work(), 1)
    // In a longer queue every client would have given up before its password is hashed.
    if (queue.running() + queue.length() >= maxPending) throw tooManyWaiting()
    queues.set(key, queue)
    const allowAtOnce = (atOnce: number) => {
      queue.concurrency = Math.max(1, atOnce)
    }
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    await queue.push(() => attempt(allowAtOnce).then(resolve, reject))
    if (queue.idle()) queues.delete(key)
    return promise
  }
}
