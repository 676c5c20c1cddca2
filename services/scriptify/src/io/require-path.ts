import { accessSync, constants, type Stats, statSync } from 'node:fs'
import { CliError, EXIT, errorCode } from './cli-error.ts'

/** Returns the stats of a path; undefined where nothing is. Throws a CliError (4) with `name` where this user may not look. */
export const findStats = (path: string, name: string): Stats | undefined =>
  withPermission(`${name} ${path} may not be read by this user`, () =>
    statSync(path, { throwIfNoEntry: false }),
  )

/** Throws a CliError for a path without a file: 3 where nothing is, 4 where this user may not look. */
export function requireFile(path: string, name: string): void {
  if (findStats(path, name)?.isFile()) return
  throw new CliError(`${name} ${path} does not exist`, EXIT.notFound)
}

/** Throws a CliError for a file that is missing (3), or that this user may not read (4). */
export function requireReadableFile(path: string, name: string): void {
  requireFile(path, name)
  requireReadable(path, name)
}

/** Throws a CliError (4) for a path that this user may not read. */
export const requireReadable = (path: string, name: string): void =>
  withPermission(`${name} ${path} may not be read by this user`, () => accessSync(path, constants.R_OK))

/** Throws a CliError for a folder that is missing (3), or that this user may not enter (4). */
export function requireEnterableFolder(path: string, name: string): void {
  withPermission(`${name} ${path} may not be entered by this user`, () => {
    if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) {
      throw new CliError(`${name} ${path} does not exist`, EXIT.notFound)
    }
    accessSync(path, constants.X_OK)
  })
}

/** Runs the look-up; throws a CliError (4) with this message where the system denies it. */
function withPermission<Result>(message: string, lookUp: () => Result): Result {
  try {
    return lookUp()
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error
    throw new CliError(message, EXIT.notPermitted)
  }
}
