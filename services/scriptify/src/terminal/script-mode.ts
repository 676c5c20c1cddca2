import { styleText } from 'node:util'
import { EXIT } from '../exit-codes.ts'
import type { Outcome, Session } from './session.ts'

/**
 * Runs a script's statements in turn, values on stdout and errors on stderr; resolves with the exit code. Without
 * keepGoing it ends at the first failure.
 */
export async function runScript(
  session: Session,
  script: string,
  { keepGoing }: { keepGoing: boolean },
): Promise<number> {
  let exitCode: number = EXIT.ok
  for (const { code, line } of await session.split(script)) {
    if (code.trim() === '') continue
    const leaving = readLeaving(code)
    if (leaving !== undefined) return leaving === '' ? exitCode : Number(leaving)
    const outcome = await session.evaluate(code, line)
    report(outcome)
    if (outcome.status !== 'failed' && outcome.status !== 'interrupted') continue
    exitCode = EXIT.failed
    if (!keepGoing) break
  }
  return exitCode
}

/** The script's own wish to leave, with its exit code; an exit() deep inside a library is a failure instead. */
function readLeaving(statement: string): string | undefined {
  const match = /^\s*(?:exit|quit|die|process\.exit)\s*(?:\(\s*(\d{0,3})\s*\))?\s*;?\s*$/.exec(statement)
  return match ? (match[1] ?? '') : undefined
}

function report(outcome: Outcome): void {
  if (outcome.status === 'shown') process.stdout.write(`${outcome.text}\n`)
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    process.stderr.write(`${styleText('red', outcome.text, { stream: process.stderr })}\n`)
  }
}
