import type { RuntimeName } from '../classes/choose-runtime.ts'
import { describeForeignText } from './charset.ts'
import { isDotCommand } from './dot-command-line.ts'
import { isDumb } from './has-colors.ts'
import type { History } from './history.ts'
import type { RunProgram } from './pager.ts'
import type { Outcome, Session } from './session.ts'
import { styleText } from './style-text.ts'

/** Tells whether an entry asks to leave: exit, quit or die, in the words of either language. */
export const isFarewell = (entry: string): boolean => /^\s*(exit|quit|die)\s*(\(\s*\))?\s*;?\s*$/.test(entry)

export interface StatementReaderOptions {
  runtime: RuntimeName
  session: Promise<Session>
  history: History
  /** The variables that --env and the service added. */
  environment: Record<string, string>
  /** Whether Ctrl-C was pressed before the entry could run. */
  isCancelled(): boolean
  /** Runs before a statement is evaluated. */
  onEvaluate(): void
  /** Lends the keyboard to another program while the function runs. */
  runProgram: RunProgram
  /** Runs when the history has another entry. */
  onRemember(): void
  leave(): void
}

export interface StatementReader {
  /** Takes an entry: code that may complete a statement, a dot command, or a request to leave. */
  read(entry: string): Promise<void>
  /** Tells whether a statement needs more lines. */
  isStarted(): boolean
  /** The lines of an incomplete statement, each with its line break. */
  pending(): string
  /** Discards the lines of an incomplete statement. */
  discard(): void
}

/** Collects entries into statements, evaluates them and prints their values. */
export function createStatementReader(options: StatementReaderOptions): StatementReader {
  const { runtime, session, history, environment, runProgram, leave } = options
  const lines: string[] = []
  const remember = (statement: string) => {
    history.add(statement)
    options.onRemember()
  }
  const evaluate = async (code: string) => {
    options.onEvaluate()
    const outcome = await (await session).evaluate(code)
    process.stdout.write(freshLine(process.stdout.columns))
    if (outcome.status === 'shown') await print(`=> ${outcome.text.replaceAll('\n', '\n   ')}`)
    else reportFailure(outcome)
  }
  // What the first prompt does not need is loaded when it is used.
  const print = async (text: string) => {
    const { printPaged } = await import('./pager.ts')
    await printPaged(text, runProgram)
  }
  const edit = async (text: string) => {
    const { editText } = await import('./edit-text.ts')
    return runProgram(() => editText(text, { extension: runtime === 'php' ? 'php' : 'ts' }))
  }
  const readLine = async (entry: string) => {
    lines.push(entry)
    const code = lines.join('\n')
    const isEmpty = code.trim() === ''
    if (!isEmpty && (await (await session).isIncomplete(code)) && !options.isCancelled()) return
    lines.length = 0
    if (isEmpty) return
    remember(code)
    if (options.isCancelled()) return reportFailure({ status: 'interrupted', text: 'Interrupted' })
    await evaluate(code)
  }
  return {
    isStarted: () => lines.length > 0,
    pending: () => lines.map((line) => `${line}\n`).join(''),
    discard: () => {
      lines.length = 0
    },
    async read(entry) {
      const refusal = describeForeignText(entry, process.env)
      if (refusal !== undefined) {
        lines.length = 0
        process.stderr.write(`${refusal}\n`)
        return
      }
      if (lines.length === 0 && isFarewell(entry)) return leave()
      if (lines.length > 0 || !isDotCommand(entry)) return readLine(entry)
      remember(entry)
      const { runDotCommand } = await import('./dot-commands.ts')
      const context = { session: await session, history, environment, evaluate, edit, print }
      if ((await runDotCommand(entry, context)) === 'leave') leave()
    },
  }
}

/** Moves to the next line, unless the cursor is at the beginning of one, which no dumb terminal tells. */
const freshLine = (columns: number): string => (isDumb() ? '' : `${' '.repeat(columns)}\r\x1b[K`)

function reportFailure(outcome: Outcome): void {
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    const rest = 'isRestored' in outcome ? '; the session goes on from before it' : ''
    process.stderr.write(`${styleText('red', outcome.text + rest, { stream: process.stderr })}\n`)
  }
}
