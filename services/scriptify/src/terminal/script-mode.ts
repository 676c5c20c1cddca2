import { styleText } from 'node:util'
import { EXIT } from '../exit-codes.ts'
import { openUntilSignal, SCRIPT_SIGNALS, untilSignal } from './end-signals.ts'
import { type Outcome, openSession, type Session } from './session.ts'
import type { SessionSetup } from './supervised-worker.ts'

interface ScriptOptions {
  /** Continues after a failed statement. */
  keepGoing: boolean
}

/** Runs a script in a session of its own, values on stdout and errors on stderr; resolves with the exit code. */
export async function runScriptMode(
  script: string,
  setup: SessionSetup,
  options: ScriptOptions,
): Promise<number> {
  const session = await openUntilSignal((signal) => openSession({ ...setup, notify: printNote, signal }))
  if (typeof session === 'number') return session
  const signalled = untilSignal(SCRIPT_SIGNALS)
  const outputFailed = new Promise<never>((_resolve, reject) => process.stdout.on('error', reject))
  let code: number
  try {
    for (const note of session.opened.notes) printNote(note)
    code = await Promise.race([runStatements(session, script, options), signalled, outputFailed])
  } finally {
    await session.close()
  }
  // A failure to write the last value is only known by now.
  return Promise.race([outputFailed, code])
}

/** Runs the statements in turn; without keepGoing it stops at the first failure. */
async function runStatements(
  session: Session,
  script: string,
  { keepGoing }: ScriptOptions,
): Promise<number> {
  let exitCode: number = EXIT.ok
  for (const { code, line } of await session.split(script)) {
    if (code.trim() === '') continue
    const requested = readExit(code)
    if (requested !== undefined) return requested === '' ? exitCode : Number(requested)
    const outcome = await session.evaluate(code, line)
    report(outcome)
    if (outcome.status !== 'failed' && outcome.status !== 'interrupted') continue
    exitCode = EXIT.failed
    if (!keepGoing) break
  }
  return exitCode
}

/** The exit code of a statement that ends the script; an exit() deep inside a library is a failure instead. */
function readExit(statement: string): string | undefined {
  const match = /^\s*(?:exit|quit|die|process\.exit)\s*(?:\(\s*(\d{0,3})\s*\))?\s*;?\s*$/.exec(statement)
  return match ? (match[1] ?? '') : undefined
}

function report(outcome: Outcome): void {
  if (outcome.status === 'shown') process.stdout.write(`${outcome.text}\n`)
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    process.stderr.write(`${styleText('red', outcome.text, { stream: process.stderr })}\n`)
  }
}

const printNote = (text: string): void => void process.stderr.write(`${text}\n`)
