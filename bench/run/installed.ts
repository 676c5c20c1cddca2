import { execFileSync } from 'node:child_process'

/** Whether the php on the PATH is one that scriptify takes: 8.3 or newer. */
export const hasPhp: boolean = answers('php', ['-r', 'exit(PHP_VERSION_ID >= 80300 ? 0 : 1);'])

/** Whether a program can be run here, and ends with 0. */
export function answers(file: string, args: readonly string[] = ['--version']): boolean {
  try {
    execFileSync(file, args, { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
