import { styleText } from 'node:util'
import type { Outcome, Session } from './session.ts'

/**
 * Runs a script's statements in turn, values on stdout and errors on stderr; tells whether all went well. Without
 * keepGoing it ends at the first failure.
 */
export async function runScript(
  session: Session,
  script: string,
  { keepGoing }: { keepGoing: boolean },
): Promise<boolean> {
  let isWell = true
  for (const { code, line } of await session.split(script)) {
    if (code.trim() === '') continue
    const outcome = await session.evaluate(code, line)
    report(outcome)
    if (outcome.status !== 'failed' && outcome.status !== 'interrupted') continue
    isWell = false
    if (!keepGoing) break
  }
  return isWell
}

function report(outcome: Outcome): void {
  if (outcome.status === 'shown') process.stdout.write(`${outcome.text}\n`)
  if (outcome.status === 'failed' || outcome.status === 'interrupted') {
    process.stderr.write(`${styleText('red', outcome.text, { stream: process.stderr })}\n`)
  }
}
