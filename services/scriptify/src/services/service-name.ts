import { CliError, EXIT } from '../io/cli-error.ts'

const SERVICE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/

/**
 * True where a name is safe in every place that contains it: a path below /etc, a unit, a shell script.
 * Dots are refused because cron silently ignores such files, slashes because they lead out of the folder.
 */
export function isServiceName(name: string): boolean {
  return SERVICE_NAME.test(name)
}

/** Throws exit code 2 for a name that is not safe. */
export function requireServiceName(name: string): void {
  if (isServiceName(name)) return
  throw new CliError(
    `${JSON.stringify(name)} is not a service name: letters, digits, - and _, at most 64, first a letter or digit`,
    EXIT.usage,
  )
}
