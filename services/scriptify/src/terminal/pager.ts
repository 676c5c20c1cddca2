import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { isDumb } from './has-colors.ts'
import { runOnTerminal } from './run-on-terminal.ts'

/** What sh answers for a program that it cannot start. */
const CANNOT_START = new Set<number | null>([126, 127])
/** As git sets them: colours pass, and less leaves what was read on the screen. Values are UTF-8 in every locale. */
const LESS = { LESS: 'FRX', LESSCHARSET: 'utf-8' }

export type RunProgram = <Result>(run: () => Promise<Result>) => Promise<Result>

/**
 * Prints a text, by $PAGER (default: less, if it is installed) when it is longer than the screen. `runProgram` has to lend
 * the keyboard while its function runs.
 */
export async function printPaged(text: string, runProgram: RunProgram): Promise<void> {
  const pager = findPager(process.env)
  if (pager === undefined || isDumb() || fitsOn(process.stdout, text)) {
    process.stdout.write(`${text}\n`)
    return
  }
  const options = { input: `${text}\n`, env: { ...LESS, ...process.env } }
  const { code } = await runProgram(() => runOnTerminal(pager, options))
  if (CANNOT_START.has(code)) {
    process.stdout.write(`${text}\n`)
    process.stderr.write(`The pager (${pager}) cannot be started; PAGER names another, PAGER=cat none\n`)
  }
}

/** An empty $PAGER means none. */
function findPager({ PAGER, PATH = '' }: NodeJS.ProcessEnv): string | undefined {
  if (PAGER !== undefined) return PAGER || undefined
  return PATH.split(delimiter).some((folder) => isExecutable(join(folder, 'less'))) ? 'less' : undefined
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

/** Leaves a row for the next prompt. On a terminal that does not tell its size, such as a serial line, everything fits. */
function fitsOn({ rows, columns }: NodeJS.WriteStream, text: string): boolean {
  if (!rows || !columns) return true
  const rowsOf = (line: string) => Math.max(1, Math.ceil(line.length / columns))
  const needed = stripVTControlCharacters(text)
    .split('\n')
    .reduce((sum, line) => sum + rowsOf(line), 0)
  return needed < rows
}
