export type State = 'closed' | 'starting' | 'ready' | 'running'

/** What happens to a worker, or is asked of it. */
export type WorkerEvent =
  | 'start'
  /** The worker has loaded autoloader, preload, declarations and variables. */
  | 'opened'
  | 'evaluate'
  | 'answered'
  /** The process died, and its sleeping copy took over (php). */
  | 'replaced'
  /** The process died, and nothing is left. */
  | 'died'
  /** The first Ctrl-C while an entry is handled. */
  | 'interrupt'
  /** Each later Ctrl-C. */
  | 'kill'
  /** The terminal got a signal that ends it before its first prompt. */
  | 'abort'
  | 'close'

export type Action =
  | 'launch'
  /** Rejects the start that waits for an answer. */
  | 'reject'
  /** Rejects what waits for an answer, and continues with the copy. */
  | 'resume'
  /** Does what `resume` does, and tells the user that the process died although no statement ran. */
  | 'resumeAndNotify'
  /** Rejects what waits for an answer, and launches another worker with what the session remembers. */
  | 'recover'
  /** Does what `recover` does, and tells the user of a failure of the launch: no statement waits for it. */
  | 'recoverAndNotify'
  /** Notifies the worker, which stops what it runs. */
  | 'interrupt'
  | 'kill'
  /** Kills after START_PATIENCE_MS: pressed again and again, Ctrl-C would kill each new process. */
  | 'killIfSlow'

/**
 * The states of a session's worker: the next state at each event, and what is done. An event that a state does not list is
 * ignored there.
 *
 * Ctrl-C is handled here while an entry is, which `Interrupter` tells: the first is an `interrupt`, each later one a `kill`.
 * While a line is typed it discards that (prompt.ts). Before the first prompt it ends the terminal with 130, as an `abort`
 * (end-signals.ts).
 */
export const STATES: Record<State, Partial<Record<WorkerEvent, readonly [next: State, action?: Action]>>> = {
  closed: {
    start: ['starting', 'launch'],
  },
  starting: {
    opened: ['ready'],
    replaced: ['starting', 'reject'],
    died: ['starting', 'reject'],
    kill: ['starting', 'killIfSlow'],
    abort: ['starting', 'kill'],
    close: ['closed'],
  },
  ready: {
    evaluate: ['running'],
    replaced: ['ready', 'resumeAndNotify'],
    died: ['starting', 'recoverAndNotify'],
    interrupt: ['ready', 'interrupt'],
    kill: ['ready', 'kill'],
    close: ['closed'],
  },
  running: {
    answered: ['ready'],
    replaced: ['ready', 'resume'],
    died: ['starting', 'recover'],
    interrupt: ['running', 'interrupt'],
    kill: ['running', 'kill'],
    close: ['closed'],
  },
}
