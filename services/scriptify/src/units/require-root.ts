import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'

/** Throws exit code 4 for every user but root. */
export function requireRoot(command: string): void {
  if (process.geteuid?.() === 0) return
  throw new CliError(`scriptify ${command} needs root: use sudo`, EXIT.notPermitted)
}
