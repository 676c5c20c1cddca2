import { statSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Files of which a project's folder has at least one. */
const MARKS = ['scriptify.config.json', 'composer.json', 'vendor/autoload.php', 'package.json']

/**
 * The folder of the project that a folder is in: the nearest one from it upward, or itself where there is none. One above
 * counts only where its owner is this user, root, or who owns the folder below: in /tmp anybody can leave code.
 */
export function findProject(folder: string): string {
  if (marksOf(folder).length > 0) return folder
  const trusted = [process.geteuid?.(), 0, ownerOf(folder)]
  for (let path = folder; path !== dirname(path); ) {
    path = dirname(path)
    const owners = marksOf(path)
    if (owners.some((owner) => trusted.includes(owner)) && trusted.includes(ownerOf(path))) return path
  }
  return folder
}

/** The owners of the files that make a folder a project's. */
const marksOf = (folder: string): number[] =>
  MARKS.map((mark) => ownerOf(join(folder, mark))).filter((owner) => owner !== undefined)

/** Undefined for what is not there, or may not be looked at. */
function ownerOf(path: string): number | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })?.uid
  } catch {
    return undefined
  }
}
