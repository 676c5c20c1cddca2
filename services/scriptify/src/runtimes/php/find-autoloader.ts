import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'

const DEFAULT = 'vendor/autoload.php'

/** The file that SCRIPTIFY_BOOTLOADER names, which must exist (else CliError 3), else Composer's autoloader, if there is one. */
export function findAutoloader(
  rootdir: string,
  { SCRIPTIFY_BOOTLOADER: named }: NodeJS.ProcessEnv,
): string | undefined {
  const path = resolve(rootdir, named || DEFAULT)
  if (statSync(path, { throwIfNoEntry: false })?.isFile()) return path
  if (named) throw new CliError(`SCRIPTIFY_BOOTLOADER names ${path}, which does not exist`, EXIT.notFound)
  return undefined
}

/** The autoloader; throws a CliError (3) if there is none. */
export function getAutoloader(rootdir: string, env: NodeJS.ProcessEnv): string {
  const found = findAutoloader(rootdir, env)
  if (found !== undefined) return found
  throw new CliError(
    `The bootstrap ${resolve(rootdir, DEFAULT)} does not exist; name another with --bootstrap`,
    EXIT.notFound,
  )
}
