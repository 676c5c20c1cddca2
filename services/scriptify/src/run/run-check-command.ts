import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'
import type { CommandWords } from '../io/replace-process.ts'

export interface CheckOptions {
  rootdir: string
  env: NodeJS.ProcessEnv
  /** The user whose rights the project's code gets; our own when absent. */
  user?: { uid: number; gid: number }
}

/** Time until the check is given up, enough for a bootstrap that waits for a database. */
const TIMEOUT_MS = 30_000

/**
 * Runs the command of a runtime's task `check`. Throws a CliError: 3 for a class or method that does not
 * exist, 4 for a folder or file without permission, 2 for arguments that the method does not take, 1 for a bootstrap or
 * class that fails to load.
 */
export async function runCheckCommand(command: CommandWords, options: CheckOptions): Promise<void> {
  const child = startCheck(command, options)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  const [output, code] = await Promise.all([text(child.stderr), ended])
  if (code === EXIT.ok) return
  throw new CliError(reasonIn(output) || 'The check died without a message', code ?? EXIT.failed)
}

/** Finds the reason of a failed task: the last line, after any warnings. A Node that crashes prints its version below it. */
export function reasonIn(output: string): string {
  const lines = output.trim().split('\n')
  const last = lines.at(-1) ?? ''
  return (/^Node\.js v\d/.test(last) && lines.find((line) => /^\w*Error\b.*: /.test(line))) || last
}

function startCheck([file, ...args]: CommandWords, { rootdir, env, user }: CheckOptions) {
  try {
    return spawn(file, args, {
      cwd: rootdir,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
      timeout: TIMEOUT_MS,
      killSignal: 'SIGKILL',
      ...user,
    })
  } catch (error) {
    // A root without CAP_SETUID, as in a container without capabilities, cannot change its user.
    if (user === undefined || errorCode(error) !== 'EPERM') throw error
    throw new CliError(
      'The method cannot be looked for as the service’s account (EPERM): run this with the capabilities of root, in a container those that Docker grants by default',
      EXIT.notPermitted,
    )
  }
}
