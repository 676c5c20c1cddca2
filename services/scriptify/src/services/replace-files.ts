import { randomBytes } from 'node:crypto'
import type { Stats } from 'node:fs'
import { link, open, readdir, rename, rm, unlink } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'

/** A file to be written. */
export interface Replacement {
  readonly path: string
  readonly mode: number
  readonly content: string
  /** The file at that path; undefined where there is none. */
  readonly existing?: Pick<Stats, 'uid' | 'gid'> | undefined
}

const OPERATIONS = { link, open, rename, unlink }
export type FileOperations = typeof OPERATIONS

/**
 * Writes all files in their order, or none: a failure at any step restores the previous ones. A reader finds the old file
 * or the new one, complete and with its final permissions. A file that appears at a free path in between stays, and is a
 * failure; so is an error of `confirm`, which is called when all are written.
 */
export async function replaceFiles(
  replacements: readonly Replacement[],
  confirm: () => Promise<void> = async () => undefined,
  operations: FileOperations = OPERATIONS,
): Promise<void> {
  const steps = replacements.map((replacement) => ({ ...replacement, ...workFiles(replacement.path) }))
  const replaced: typeof steps = []
  try {
    for (const step of steps) await stage(step, operations)
    for (const step of steps) if (step.existing) await operations.link(step.path, step.backup)
    for (const step of steps) {
      // link, unlike rename, never replaces another file.
      await (step.existing ? operations.rename : operations.link)(step.staged, step.path)
      replaced.push(step)
    }
    for (const folder of new Set(steps.map(({ path }) => dirname(path)))) await flush(folder, operations)
    await confirm()
  } catch (error) {
    for (const { path, backup, existing } of replaced.reverse()) {
      await (existing ? rename(backup, path) : unlink(path))
    }
    throw error
  } finally {
    for (const { staged, backup } of steps) await Promise.allSettled([unlink(staged), unlink(backup)])
  }
}

/**
 * Removes the files that a killed `replaceFiles` left beside these paths; gives their paths. Another `replaceFiles` may
 * remove its own files at the same time.
 */
export async function removeLeftovers(paths: readonly string[]): Promise<string[]> {
  const leftovers = (await Promise.all(paths.map(findLeftovers))).flat()
  await Promise.all(leftovers.map((path) => rm(path, { force: true })))
  return leftovers
}

// No init system reads such a file: cron, upstart and SysV because of the dot, systemd because of its ending.
const workPrefix = (path: string): string => `.${basename(path)}.scriptify-`

function workFiles(path: string): { staged: string; backup: string } {
  const work = join(dirname(path), `${workPrefix(path)}${randomBytes(6).toString('hex')}`)
  return { staged: `${work}.new`, backup: `${work}.old` }
}

async function findLeftovers(path: string): Promise<string[]> {
  const folder = dirname(path)
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => name.startsWith(workPrefix(path))).map((name) => join(folder, name))
}

async function stage(
  { staged, mode, content, existing }: Replacement & { staged: string },
  { open }: FileOperations,
): Promise<void> {
  const file = await open(staged, 'wx', 0o600)
  try {
    await file.writeFile(content)
    if (existing) await file.chown(existing.uid, existing.gid)
    // The mode is set after chown, which may clear bits. The umask applies to open only.
    await file.chmod(mode)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function flush(folder: string, { open }: FileOperations): Promise<void> {
  const directory = await open(folder, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}
