// The thread of the worker that waits for Ctrl-C. It asks the main thread first; without an answer, which means that the
// main thread is in an endless loop, it terminates what runs there through the inspector.

import { createReadStream } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { parentPort, workerData } from 'node:worker_threads'

const ANSWER_MS = 60
/** 1 in the first: the main thread has answered; in the second: it runs what must not be terminated. */
const states = new Int32Array(workerData as SharedArrayBuffer)

// The thread did not open the descriptor, and Node warns of a thread that closes such a one.
createReadStream('', { fd: 4, autoClose: false }).on('data', async (): Promise<void> => {
  Atomics.store(states, 0, 0)
  parentPort?.postMessage('interrupt')
  await sleep(ANSWER_MS)
  if (Atomics.load(states, 0) === 1 || Atomics.load(states, 1) === 1) return
  const session = new Session()
  session.connectToMainThread()
  await session.post('Runtime.terminateExecution').catch(() => {})
  session.disconnect()
})
