import { resolve } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { findStats } from '../../io/require-path.ts'
import { findBootloader } from '../bootloader.ts'

const DEFAULT = 'vendor/autoload.php'

/** The file that SCRIPTIFY_BOOTLOADER names, which must exist (else CliError 3), else Composer's autoloader, if there is one. */
export function findAutoloader(rootdir: string, env: NodeJS.ProcessEnv): string | undefined {
  const named = findBootloader(rootdir, env, 'php')
  if (named !== undefined) return named
  const path = resolve(rootdir, DEFAULT)
  return findStats(path, 'The bootstrap')?.isFile() ? path : undefined
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
