import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import type { Output } from '../../io/cli-context.ts'
import { describeInvalidText } from './charset.ts'
import { isDotCommand, runDotCommand } from './dot-commands.ts'
import type { History } from './history.ts'
import type { StatementOutcome, TerminalSession } from './terminal-session.ts'

/** True where an entry asks to leave: exit, quit or die, in the words of either language. */
export const isExitCommand = (entry: string): boolean =>
  /^\s*(exit|quit|die)\s*(\(\s*\))?\s*;?\s*$/.test(entry)

export interface StatementReaderOptions {
  session: TerminalSession
  history: History
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  isDumb: boolean
  stdout: Output
  stderr: Writable
  /** Runs before a statement is evaluated. */
  onEvaluate(): void
  leave(): void
}

export interface StatementReader {
  /** Takes an entry: code that may complete a statement, a dot command, or a request to leave. An aborted one does not run. */
  read(entry: string, signal: AbortSignal): Promise<void>
  /** True where a statement needs more lines. */
  isStarted(): boolean
  /** Discards the lines of an incomplete statement. */
  discard(): void
}

/** Collects entries into statements, evaluates them and prints their values. */
export function createStatementReader(options: StatementReaderOptions): StatementReader {
  const { session, history, environment, isDumb, stdout, stderr, onEvaluate, leave } = options
  const lines: string[] = []
  const print = (text: string) => void stdout.write(`${text}\n`)
  const evaluate = async (code: string) => {
    onEvaluate()
    const outcome = await session.evaluate(code)
    // A dumb terminal does not tell where its cursor is.
    if (!isDumb) stdout.write(freshLine(stdout.columns))
    if (outcome.status === 'shown') print(`=> ${outcome.text.replaceAll('\n', '\n   ')}`)
    else reportFailure(outcome, stderr)
  }
  const readLine = async (entry: string, signal: AbortSignal) => {
    lines.push(entry)
    const code = lines.join('\n')
    const isEmpty = code.trim() === ''
    if (!isEmpty && (await session.isIncomplete(code)) && !signal.aborted) return
    lines.length = 0
    if (isEmpty) return
    history.add(code)
    if (signal.aborted) return reportFailure({ status: 'interrupted', text: 'Interrupted' }, stderr)
    await evaluate(code)
  }
  return {
    isStarted: () => lines.length > 0,
    discard: () => {
      lines.length = 0
    },
    async read(entry, signal) {
      const refusal = describeInvalidText(entry)
      if (refusal !== undefined) {
        lines.length = 0
        stderr.write(`${refusal}\n`)
        return
      }
      if (lines.length === 0 && isExitCommand(entry)) return leave()
      if (lines.length > 0 || !isDotCommand(entry)) return readLine(entry, signal)
      history.add(entry)
      await runDotCommand(entry, { session, history, environment, print, leave })
    },
  }
}

/** Moves to the next line, unless the cursor is at the beginning of one. */
const freshLine = (columns = 0): string => `${' '.repeat(columns)}\r\x1b[K`

function reportFailure(outcome: StatementOutcome, stderr: Writable): void {
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    const rest =
      'isRestored' in outcome ? '; the session was restored to the state before this statement' : ''
    stderr.write(`${styleText('red', outcome.text + rest, { stream: stderr })}\n`)
  }
}
