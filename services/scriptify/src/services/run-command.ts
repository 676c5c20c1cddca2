import { execFile } from 'node:child_process'
import { CliError, EXIT } from '../io/cli-error.ts'
import type { ControlCommand } from './init-system.ts'
import { SYSTEM_PATH } from './paths.ts'

export const command = (...words: ControlCommand['words']): ControlCommand => ({ words })
export const optionalCommand = (...words: ControlCommand['words']): ControlCommand => ({
  words,
  mayFail: true,
})

/** Runs commands in order; throws exit code 1 with the first line of the first that fails. */
export async function controlAll(commands: readonly ControlCommand[]): Promise<void> {
  for (const { words, mayFail } of commands) {
    const { code, stderr, reason } = await runCommand(words)
    if (code === 0 || mayFail) continue
    const cause = stderr.trim().split('\n')[0] || (code > 0 ? `exit code ${code}` : reason)
    throw new CliError(`${words.join(' ')}: ${cause}`, EXIT.failed)
  }
}

interface Answer {
  /** -1 for a program that could not be started or was killed. */
  readonly code: number
  readonly stdout: string
  readonly stderr: string
  /** The reason of its failure, in one line; empty for a success. */
  readonly reason: string
}

/** Runs a command to its end, with the folders of the system's programs in PATH. */
export function runCommand(
  [file, ...args]: ControlCommand['words'],
  { timeoutMs = 0 }: { timeoutMs?: number } = {},
): Promise<Answer> {
  // The PATH of a root who came by `su` may have no sbin.
  const env = { PATH: SYSTEM_PATH, LC_ALL: 'C.UTF-8' }
  return new Promise((resolve) => {
    execFile(file, args, { timeout: timeoutMs, env }, (error, stdout, stderr) => {
      const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1
      resolve({ code, stdout, stderr, reason: error?.message.split('\n')[0] ?? '' })
    })
  })
}
