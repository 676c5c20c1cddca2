import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import type { CommandWords } from '../runtimes/runtime.ts'

export interface CheckOptions {
  rootdir: string
  env: NodeJS.ProcessEnv
  /** Whose rights the project's code gets; our own when absent. */
  user?: { uid: number; gid: number }
}

/** As long as a bootstrap may take that, say, waits for a database. */
const TIMEOUT_MS = 30_000

/**
 * Runs a runtime's `checkCommand`. Throws a CliError: 3 for what does not exist, 2 for arguments that the method does
 * not take, 1 for a bootstrap or class that fails to load.
 */
export async function runCheck(command: CommandWords, options: CheckOptions): Promise<void> {
  const child = start(command, options)
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  const [said, code] = await Promise.all([text(child.stderr), ended])
  if (code === EXIT.ok) return
  throw new CliError(reasonIn(said) || 'The check died before it said anything', code ?? EXIT.failed)
}

/** A warning of the project's own may come before our line; a Node that dies names its version last, and above the error. */
function reasonIn(said: string): string {
  const lines = said.trim().split('\n')
  const last = lines.at(-1) ?? ''
  return (/^Node\.js v\d/.test(last) && lines.find((line) => /^\w*Error\b.*: /.test(line))) || last
}

function start([file, ...args]: CommandWords, { rootdir, env, user }: CheckOptions) {
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
    // A root without CAP_SETUID, as in a container without capabilities, becomes nobody else.
    if (user === undefined || !(error instanceof Error && 'code' in error && error.code === 'EPERM'))
      throw error
    throw new CliError(
      'The check may not take the rights of the service’s account (EPERM); --no-check leaves it out',
      EXIT.notPermitted,
    )
  }
}
