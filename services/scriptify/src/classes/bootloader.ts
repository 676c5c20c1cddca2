import { resolve } from 'node:path'
import { CliError, EXIT } from '../io/cli-error.ts'
import { findStats, requireReadable } from '../io/require-path.ts'
import { SETTINGS } from '../scriptify-settings.ts'
import { namedBootloader, type RuntimeName, runtimeOfFile } from './choose-runtime.ts'

/**
 * The file that SCRIPTIFY_BOOTLOADER names, relative to rootdir; undefined when unset. Throws a CliError: 3 if it does not
 * exist, 4 if this user may not read it, 2 if it is of another language.
 */
export function findBootloader(
  rootdir: string,
  env: NodeJS.ProcessEnv,
  runtime: RuntimeName,
): string | undefined {
  const named = namedBootloader(env)
  if (named === undefined) return undefined
  const { name } = SETTINGS.bootloader
  const path = resolve(rootdir, named)
  if (!findStats(path, 'The bootstrap')?.isFile()) {
    throw new CliError(`${name} names ${path}, which does not exist`, EXIT.notFound)
  }
  if ((runtimeOfFile(path) ?? runtime) !== runtime) {
    throw new CliError(
      `${name} names ${path}, which ${runtime} cannot load; unset it, or name another`,
      EXIT.usage,
    )
  }
  requireReadable(path, 'The bootstrap')
  return path
}
