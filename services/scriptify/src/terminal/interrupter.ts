import type { Session } from './session.ts'

const STILL_RUNNING_MS = 700

/** Ctrl-C while the session is busy: the first asks the worker to stop, the second kills it. */
export function createInterrupter(
  session: Promise<Pick<Session, 'interrupt' | 'kill'> & { opened: Promise<unknown> }>,
  isBusy: () => boolean,
) {
  let count = 0
  let notice: NodeJS.Timeout | undefined
  let open: Pick<Session, 'interrupt' | 'kill'> | undefined
  let isCancelled = false
  const noteOpened = async () => {
    const started = await session
    await started.opened
    open = started
  }
  // The prompt reports a failure to start.
  noteOpened().catch(() => {})
  return {
    /** Begins to count anew: another statement runs. */
    reset: () => {
      count = 0
      clearTimeout(notice)
      isCancelled = false
    },
    /** Whether an entry that does not run yet is not to run. */
    isCancelled: () => isCancelled,
    interrupt(): void {
      if (!isBusy()) return
      isCancelled = true
      if (open === undefined) return
      count += 1
      clearTimeout(notice)
      if (count > 1) {
        // The entry waited for what is ended now, such as a timer.
        isCancelled = false
        open.kill()
        return
      }
      open.interrupt()
      notice = setTimeout(() => {
        if (isBusy()) process.stderr.write('(still running; Ctrl-C again stops it by force)\n')
      }, STILL_RUNNING_MS).unref()
    },
  }
}
