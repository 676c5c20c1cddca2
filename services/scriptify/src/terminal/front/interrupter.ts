import type { TerminalSession } from './terminal-session.ts'

const STILL_RUNNING_MS = 700

/** The effect of Ctrl-C while an entry is handled. */
export interface Interrupter {
  /** The signal that the first Ctrl-C aborts: a statement that does not run yet must not run. */
  signal: AbortSignal
  /** Handles Ctrl-C: the first asks the worker to stop, the second kills it. */
  interrupt(): void
  /** Ends the handling of the entry. */
  end(): void
}

/** Creates the functions that handle Ctrl-C for one entry; `notify` prints a line. */
export function createInterrupter(
  session: Pick<TerminalSession, 'interrupt' | 'kill'>,
  notify: (text: string) => void,
): Interrupter {
  const abort = new AbortController()
  let notice: NodeJS.Timeout | undefined
  return {
    signal: abort.signal,
    interrupt() {
      clearTimeout(notice)
      if (abort.signal.aborted) return session.kill()
      abort.abort()
      session.interrupt()
      notice = setTimeout(() => {
        notify('(still running; Ctrl-C again stops it by force)')
      }, STILL_RUNNING_MS).unref()
    },
    end: () => clearTimeout(notice),
  }
}
