import { existsSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { findStats, requireReadable } from '../../io/require-path.ts'
import type { TerminalBackend } from './backend.ts'

/** The folder of the preload files that come with scriptify. */
const SHIPPED_FOLDER = join(import.meta.dirname, '..', '..', '..', '..', '..', 'templates', 'scriptify')

/**
 * The absolute path of the preload file that --preload names, relative to rootdir or to the current folder. Throws a CliError:
 * 3 for a missing file, 4 for one that this user may not read.
 */
export function getPreload(rootdir: string, named: string): string {
  const path = resolve(rootdir, named)
  const found = [path, resolve(named)].find((each) => findStats(each, 'The preload file') !== undefined)
  if (found === undefined) throw new CliError(`The preload file ${path} does not exist`, EXIT.notFound)
  requireReadable(found, 'The preload file')
  return found
}

/** The project's own preload file, else that of scriptify. One from a folder above could be another user's. */
export function findPreload(rootdir: string, { preload }: TerminalBackend): string {
  const path = resolve(rootdir, preload)
  // A package contains JavaScript.
  const shipped = basename(preload).replace(/\.ts$/, extname(import.meta.filename))
  return existsSync(path) ? path : join(SHIPPED_FOLDER, shipped)
}
