import { readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { errorCode } from '../io/cli-error.ts'
import { propertyOf } from '../io/json-object.ts'

/** Files that say where the classes of a project are. */
const MAPS = ['scriptify.config.json', 'composer.json', 'vendor/autoload.php']
const MANIFEST = 'package.json'

/** The folder of the project that a folder is in: the nearest one from it upward, or itself where there is none. */
export const findProject = (folder: string): string => findUpward(folder, () => [...MAPS, MANIFEST]) ?? folder

/** The same, but for a workspace of a monorepo, whose manifest has no settings, the project around it that has them. */
export const findConfiguredProject = (folder: string): string =>
  findUpward(folder, (path) => (hasSettings(join(path, MANIFEST)) ? [...MAPS, MANIFEST] : MAPS)) ??
  findProject(folder)

/**
 * The nearest folder that has one of its marks. One above counts only where its owner is this user, root, or who owns the
 * folder below: in /tmp anybody can leave code.
 */
function findUpward(folder: string, marks: (path: string) => string[]): string | undefined {
  const ownersIn = (path: string) => marks(path).map((mark) => ownerOf(join(path, mark)))
  if (ownersIn(folder).some((owner) => owner !== undefined)) return folder
  const trusted = [process.geteuid?.(), 0, ownerOf(folder)].filter((owner) => owner !== undefined)
  const isTrusted = (owner: number | undefined) => owner !== undefined && trusted.includes(owner)
  for (let path = folder; path !== dirname(path); ) {
    path = dirname(path)
    if (isTrusted(ownerOf(path)) && ownersIn(path).some(isTrusted)) return path
  }
  return undefined
}

/** True for a manifest with settings of scriptify, and for one that only the error about it can tell. */
function hasSettings(manifest: string): boolean {
  try {
    return propertyOf(JSON.parse(readFileSync(manifest, 'utf8')), 'scriptify') !== undefined
  } catch (error) {
    return errorCode(error) !== 'ENOENT'
  }
}

/** Undefined for what is not there, or may not be looked at. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.uid
  } catch {
    return undefined
  }
}
