// The thread of the worker that waits for Ctrl-C. It asks the main thread first; without an answer, which means that the
// main thread is in an endless loop, it terminates what runs there through the inspector.

import { createReadStream } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

/** A busy machine lets the main thread wait for a processor. */
const ANSWER_MS = 150

/** Shared with the main thread. */
export interface InterruptStates {
  /** The number of the last Ctrl-C that the main thread has answered. */
  answered: Int32Array<SharedArrayBuffer>
  /** 1 while the main thread runs what must not be terminated. */
  refused: Int32Array<SharedArrayBuffer>
}

const { answered, refused } = workerData as InterruptStates
const isStuck = (number: number): boolean =>
  Atomics.load(answered, 0) < number && Atomics.load(refused, 0) === 0
let count = 0

// The thread did not open the descriptor, and Node warns of a thread that closes such a one.
createReadStream('', { fd: 4, autoClose: false }).on('data', async (): Promise<void> => {
  count += 1
  const number = count
  parentPort?.postMessage(number)
  await sleep(ANSWER_MS)
  if (!isStuck(number)) return
  const session = new Session()
  session.connectToMainThread()
  // The connection takes a while; a late termination would end what answers the terminal's next request.
  if (isStuck(number)) await session.post('Runtime.terminateExecution').catch(() => {})
  session.disconnect()
})
