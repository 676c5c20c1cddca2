import type { TerminalSession } from './terminal-session.ts'

/** Exit codes by the signals that end a terminal. */
export type SignalCodes = Partial<Record<NodeJS.Signals, number>>
/** The signals that end the terminal at a prompt: Ctrl-C does not. */
export const PROMPT_SIGNALS: SignalCodes = { SIGHUP: 129, SIGTERM: 143 }
const START_SIGNALS: SignalCodes = { ...PROMPT_SIGNALS, SIGINT: 130 }

/** Resolves with the exit code of the first of these signals; `onSignal` runs at each. */
export function untilSignal(signals: SignalCodes, onSignal = () => {}): Promise<number> {
  return new Promise((resolve) => {
    listen(signals, (code) => {
      onSignal()
      resolve(code)
    })
  })
}

/**
 * Opens a session, or gives the exit code of a signal that arrives before the session is open: an autoloader or a
 * preload may never return, and the signal ends its process too.
 */
export async function openUntilSignal(
  open: (signal: AbortSignal) => Promise<TerminalSession>,
): Promise<TerminalSession | number> {
  const abort = new AbortController()
  let code: number | undefined
  const stopListening = listen(START_SIGNALS, (received) => {
    code = received
    abort.abort()
  })
  try {
    const session = await open(abort.signal)
    if (code === undefined) return session
    await session.close()
    return code
  } catch (error) {
    if (code === undefined) throw error
    return code
  } finally {
    stopListening()
  }
}

/** Listens also after the first signal: a second one must not end this process before the worker has ended. */
function listen(signals: SignalCodes, onCode: (code: number) => void): () => void {
  const listeners = Object.entries(signals).map(([signal, code]) => [signal, () => onCode(code)] as const)
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}
