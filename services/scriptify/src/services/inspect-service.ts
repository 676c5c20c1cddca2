import { constants, type Stats } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import { CliError, EXIT, errorCode } from '../io/cli-error.ts'
import { lstatIfAny } from './folders.ts'
import type { InitSystem } from './init-system.ts'
import { ownershipMark, readMark } from './ownership.ts'
import { environmentFile, extraPaths, launcherFile, unitFile } from './paths.ts'

/** A file at a path that a service of this name uses. */
export interface FoundFile {
  /** The path of the file on this machine, with the root in front. */
  readonly path: string
  readonly owner: 'own' | 'foreign'
  readonly stats: Stats
  readonly text: string
}

export interface FoundUnit extends FoundFile {
  readonly system: InitSystem
}

export interface FoundService {
  readonly units: readonly FoundUnit[]
  readonly environment: FoundFile | undefined
  readonly launcher: FoundFile | undefined
  /** The extra files of its init systems. */
  readonly extras: readonly FoundFile[]
}

interface InspectOptions {
  readonly root: string
  readonly systems: readonly InitSystem[]
  /** Takes a file in scriptify's own folder that only root may read for scriptify's. */
  readonly trustsUnreadable?: boolean
}

/** Looks at every path that a service of this name could use, below `root`; changes nothing and follows no link. */
export async function inspectService(
  name: string,
  { root, systems, trustsUnreadable = false }: InspectOptions,
): Promise<FoundService> {
  const look = (path: string) => inspectFile(join(root, path), { name, systems, trustsUnreadable })
  const units = await Promise.all(systems.map((system) => inspectUnit(system, { name, root, systems })))
  const found = units.filter((unit) => unit !== undefined)
  return {
    units: found,
    environment: await look(environmentFile(name)),
    launcher: await look(launcherFile(name)),
    extras: (await Promise.all(extraPaths(name, systems).map(look))).filter((file) => file !== undefined),
  }
}

/** Looks at the unit of a service; one that another init system with the same path reads is foreign. */
export async function inspectUnit(
  system: InitSystem,
  { name, root, systems }: { name: string; root: string; systems: readonly InitSystem[] },
): Promise<FoundUnit | undefined> {
  const file = await inspectFile(join(root, unitFile(system, name)), { name, systems })
  if (file === undefined) return undefined
  const mark = readMark(file.text, systems)
  const belongsToOtherSystem = mark !== undefined && mark.system !== system
  return { ...file, system, owner: belongsToOtherSystem ? 'foreign' : file.owner }
}

/** Looks at one path that a service of this name uses; undefined where nothing is. */
async function inspectFile(
  path: string,
  { name, systems, trustsUnreadable }: Omit<InspectOptions, 'root'> & { name: string },
): Promise<FoundFile | undefined> {
  const stats = await lstatIfAny(path)
  if (!stats) return undefined
  if (!stats.isFile()) return { path, owner: 'foreign', stats, text: '' }
  const text = await readWithoutFollowing(path)
  if (text === undefined) {
    if (trustsUnreadable) return { path, owner: 'own', stats, text: '' }
    throw new CliError(`${path} is readable by root only: use sudo`, EXIT.notPermitted)
  }
  const mark = readMark(text, systems)
  // A copy under another name belongs to the admin.
  const owner = mark?.name === name ? 'own' : 'foreign'
  return { path, owner, stats, text }
}

/** Returns the error for a file that scriptify did not write. */
export const foreignFile = ({ path }: FoundFile): CliError =>
  new CliError(`${path} was not written by scriptify; it stays as it is`, EXIT.notPermitted)

/** Reads a file that is not a link; undefined for one that this user may not read. */
async function readWithoutFollowing(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW)
    return await file.readFile('utf8')
  } catch (error) {
    if (errorCode(error) === 'EACCES') return undefined
    throw error
  }
}

/** The files of a service besides its unit. A timer or a rotation that an admin wrote is excluded. */
export const supportingFilesOf = ({ environment, launcher, extras }: FoundService): FoundFile[] => [
  ...[environment, launcher].filter((file) => file !== undefined),
  ...extras.filter(({ owner }) => owner === 'own'),
]

/** The init system that the marks in the other files name, where the unit has none. */
export function findMarkedSystem(found: FoundService, systems: readonly InitSystem[]): InitSystem[] {
  const marks = supportingFilesOf(found).map(({ text }) => readMark(text, systems))
  return marks.flatMap((mark) => mark?.system ?? []).slice(0, 1)
}

/**
 * Throws exit code 4 for a unit that was scriptify's, until its mark was removed by hand. It still uses the other files:
 * without them its service would not start again.
 */
export function requireMark(name: string, found: FoundService, systems: readonly InitSystem[]): void {
  if (found.units.some(({ owner }) => owner === 'own')) return
  const [system] = findMarkedSystem(found, systems)
  const unit = found.units.find((unit) => unit.system === system)
  if (unit === undefined) return
  throw new CliError(
    `${unit.path} has lost its line "${ownershipMark(name, unit.system)}": put it back among the first three, or remove the file`,
    EXIT.notPermitted,
  )
}
