import { realpath } from 'node:fs/promises'
import { CliError } from '../cli/cli-error.ts'
import { EXIT } from '../cli/exit-codes.ts'
import { lstatIfAny } from './lstat-if-any.ts'

/** The folder of --root, without links; throws exit code 3 where there is none. */
export async function resolveRoot(root: string): Promise<string> {
  const path = await realpath(root).catch(() => undefined)
  if (path !== undefined && (await lstatIfAny(path))?.isDirectory()) return path
  throw new CliError(`--root ${root} is not a folder`, EXIT.notFound)
}
