import { styleText } from 'node:util'
import type { RuntimeName } from '../classes/choose-runtime.ts'
import { EXIT } from '../io/cli-error.ts'
import { openUntilSignal, SCRIPT_SIGNALS, untilSignal } from './end-signals.ts'
import { openSession, type Session, type StatementOutcome } from './session.ts'
import type { SessionSetup } from './worker/supervisor.ts'

export interface ScriptOptions {
  /** Continues after a failed statement. */
  keepGoing: boolean
  /** Prints the value of the last statement. */
  printsValue: boolean
}

/**
 * Runs a script in a new session, errors on stderr; resolves with the exit code once nothing of it is pending: its
 * own, or 1 if anything failed.
 */
export async function runScriptMode(
  script: string,
  setup: SessionSetup,
  options: ScriptOptions,
): Promise<number> {
  const failures = collectFailures(options)
  const session = await openUntilSignal((signal) =>
    openSession({ ...setup, isScript: true, notify: failures.notify, signal }),
  )
  if (typeof session === 'number') return session
  const signalled = untilSignal(SCRIPT_SIGNALS)
  const outputFailed = new Promise<never>((_resolve, reject) => process.stdout.on('error', reject))
  let code: number
  try {
    const { notes, failed } = session.opened
    for (const note of notes) printNote(note)
    const run = failed ? EXIT.failed : runToEnd(session, { script, setup, options, failures })
    code = await Promise.race([run, failures.stop, signalled, outputFailed])
  } finally {
    await session.close()
  }
  // A failure to write the last value is only known by now.
  return Promise.race([outputFailed, code])
}

interface Failures {
  notify(text: string, options?: { isFailure: boolean }): void
  add(): void
  any(): boolean
  /** Resolves with the exit code at the first failure, without keepGoing. */
  stop: Promise<number>
}

/** Collects the failures of statements, and of what no statement waits for, such as timers. */
function collectFailures({ keepGoing }: ScriptOptions): Failures {
  const { promise: stop, resolve } = Promise.withResolvers<number>()
  let hasAny = false
  const add = () => {
    hasAny = true
    if (!keepGoing) resolve(EXIT.failed)
  }
  return {
    add,
    stop,
    any: () => hasAny,
    notify(text, { isFailure } = { isFailure: false }) {
      printNote(text)
      if (isFailure) add()
    },
  }
}

interface ScriptRun {
  script: string
  setup: SessionSetup
  options: ScriptOptions
  failures: Failures
}

/** Resolves with the exit code, once nothing is pending in the script. */
async function runToEnd(session: Session, run: ScriptRun): Promise<number> {
  const { setup, failures } = run
  const ended = session.ended.then((status = EXIT.failed) => {
    const hasFailed = status === setup.backend.worker.fatalStatus || (status === EXIT.ok && failures.any())
    return hasFailed ? EXIT.failed : status
  })
  const left = await Promise.race([runStatements(session, run), ended])
  if (left !== undefined) return left
  await session.finish()
  return ended
}

/** Runs the statements in turn; resolves with the exit code of one that leaves, or undefined at the end. */
async function runStatements(
  session: Session,
  { script, setup, options, failures }: ScriptRun,
): Promise<number | undefined> {
  const statements = (await session.split(script)).filter(({ code }) => code.trim() !== '')
  for (const statement of statements) {
    const requested = readExit(statement.code, setup.backend.name)
    if (requested !== undefined) return requested ?? (failures.any() ? EXIT.failed : EXIT.ok)
    const outcome = await session.evaluate(statement.code, statement.line)
    report(outcome, { printsValue: options.printsValue && statement === statements.at(-1) })
    if (outcome.status !== 'failed' && outcome.status !== 'interrupted') continue
    failures.add()
    if (!options.keepGoing) return EXIT.failed
  }
  return undefined
}

/** The exit code of a statement in the words of the prompt, null without one; `exit` is a statement of php itself. */
function readExit(statement: string, runtime: RuntimeName): number | null | undefined {
  const words = runtime === 'php' ? 'quit' : 'exit|quit'
  const match = new RegExp(`^\\s*(?:${words})\\s*(?:\\(\\s*(\\d{0,3})\\s*\\))?\\s*;?\\s*$`).exec(statement)
  if (!match) return undefined
  return match[1] ? Number(match[1]) : null
}

function report(outcome: StatementOutcome, { printsValue }: { printsValue: boolean }): void {
  if (outcome.status === 'shown' && printsValue) process.stdout.write(`${outcome.text}\n`)
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    process.stderr.write(`${styleText('red', outcome.text, { stream: process.stderr })}\n`)
  }
}

const printNote = (text: string): void => void process.stderr.write(`${text}\n`)
