import type { Stats } from 'node:fs'
import { chmod, lstat, mkdir, readdir, readlink, realpath, rmdir } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'

/** The names in a folder; none for a path that is a link or not a folder. */
export async function namesIn(folder: string): Promise<string[]> {
  const stats = await lstat(folder).catch(() => undefined)
  return stats?.isDirectory() ? readdir(folder) : []
}

/** Finds the paths below `root` that are links to this file, as the system that `root` holds sees it. */
export async function linksTo(paths: readonly string[], target: string, root: string): Promise<string[]> {
  const targets = await Promise.all(paths.map((path) => readlink(path).catch(() => '')))
  const isTarget = (path: string) => path === target || path === join(root, target)
  return paths.filter((path, index) => isTarget(resolve(dirname(path), targets[index] ?? '')))
}

/** Throws exit code 4 for a folder that is reached through a link, 3 for one that is missing. */
export async function requireFolder(root: string, path: string): Promise<void> {
  const folders = path.split('/').filter(Boolean)
  for (let depth = 1; depth <= folders.length; depth++) {
    const folder = join(root, ...folders.slice(0, depth))
    const stats = await lstatIfAny(folder)
    if (!stats) throw new CliError(`${folder} does not exist: is that init system installed?`, EXIT.notFound)
    if (!stats.isDirectory()) {
      throw new CliError(
        `${folder} is a link or not a folder; scriptify does not write through it`,
        EXIT.notPermitted,
      )
    }
  }
}

/** Creates the folders that are missing; gives those. */
export async function createFolders(folders: readonly string[]): Promise<string[]> {
  const created: string[] = []
  for (const folder of folders) {
    if ((await mkdir(folder, { recursive: true, mode: 0o755 })) === undefined) continue
    created.push(folder)
    // mkdir applies the umask.
    await chmod(folder, 0o755)
  }
  return created
}

/** Removes those folders that are empty. */
export async function removeEmptyFolders(folders: readonly string[]): Promise<void> {
  for (const folder of folders) await rmdir(folder).catch(() => undefined)
}

/** Returns the stats of a path, without following a link; undefined where nothing is there. */
export async function lstatIfAny(path: string): Promise<Stats | undefined> {
  try {
    return await lstat(path)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw error
  }
}

/** The folder of --root, without links; throws exit code 3 where there is none. */
export async function resolveRoot(root: string): Promise<string> {
  const path = await realpath(root).catch(() => undefined)
  if (path !== undefined && (await lstatIfAny(path))?.isDirectory()) return path
  throw new CliError(`--root ${root} is not a folder`, EXIT.notFound)
}
