import { setTimeout as sleep } from 'node:timers/promises'
import type { Session } from './session.ts'

const STILL_RUNNING_MS = 700

/** Ctrl-C while the session is busy: the first asks the worker to stop, the second kills it. */
export function createInterrupter(session: Pick<Session, 'interrupt' | 'kill'>, isBusy: () => boolean) {
  let count = 0
  return {
    /** Begins to count anew: another statement runs. */
    reset: () => {
      count = 0
    },
    async interrupt(): Promise<void> {
      if (!isBusy()) return
      count += 1
      if (count > 1) return session.kill()
      session.interrupt()
      await sleep(STILL_RUNNING_MS, undefined, { ref: false })
      if (isBusy() && count === 1) {
        process.stderr.write('(still running; Ctrl-C again stops it by force)\n')
      }
    },
  }
}
