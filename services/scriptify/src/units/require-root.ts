import { CliError } from '../cli/cli-error.ts'
import { EXIT } from '../cli/exit-codes.ts'

/** Throws exit code 4 for every user but root. */
export function requireRoot(command: string): void {
  if (process.geteuid?.() === 0) return
  throw new CliError(`scriptify ${command} needs root: use sudo`, EXIT.notPermitted)
}
