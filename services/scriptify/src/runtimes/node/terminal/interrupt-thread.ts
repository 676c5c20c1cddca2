// The thread of the worker that waits for Ctrl-C. It asks the main thread first; without an answer, which means that the
// main thread is in an endless loop, it terminates what runs there through the inspector.

import { createReadStream } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const ANSWER_MS = 60

/** Shared with the main thread; each is 0 or 1. */
export interface InterruptStates {
  /** The main thread has answered. */
  answered: Int32Array<SharedArrayBuffer>
  /** The main thread runs what must not be terminated. */
  refused: Int32Array<SharedArrayBuffer>
}

const { answered, refused } = workerData as InterruptStates

// The thread did not open the descriptor, and Node warns of a thread that closes such a one.
createReadStream('', { fd: 4, autoClose: false }).on('data', async (): Promise<void> => {
  Atomics.store(answered, 0, 0)
  parentPort?.postMessage('interrupt')
  await sleep(ANSWER_MS)
  if (Atomics.load(answered, 0) === 1 || Atomics.load(refused, 0) === 1) return
  const session = new Session()
  session.connectToMainThread()
  await session.post('Runtime.terminateExecution').catch(() => {})
  session.disconnect()
})
