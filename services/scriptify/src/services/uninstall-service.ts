import { rm } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CliError, EXIT, errorMessage } from '../io/cli-error.ts'
import { requireRoot } from './control-service.ts'
import { lstatIfAny, namesIn, removeEmptyFolders } from './folders.ts'
import type { ControlCommand, InitSystem } from './init-system.ts'
import {
  type FoundService,
  type FoundUnit,
  findMarkedSystem,
  foreignFile,
  inspectService,
  requireMark,
  supportingFilesOf,
} from './inspect-service.ts'
import { serviceNotFound } from './list-services.ts'
import {
  environmentFile,
  extraPaths,
  launcherFile,
  lockFile,
  ownFolders,
  pidFile,
  resultFile,
  unitFile,
} from './paths.ts'
import { removeLeftovers } from './replace-files.ts'
import { controlAll } from './run-command.ts'
import { requireServiceName } from './service-name.ts'

export interface UninstallOptions {
  readonly name: string
  /** `/`, or the folder where the files of another host are mounted. */
  readonly root: string
  readonly dryRun: boolean
  readonly systems: readonly InitSystem[]
}

interface Removal {
  readonly before: readonly ControlCommand[]
  readonly files: readonly string[]
  readonly after: readonly ControlCommand[]
  /** The folders that are removed if nothing else is in them. */
  readonly folders: readonly string[]
}

/**
 * Stops, disables and removes a service with all its files; gives the lines that report this. The owner of each file is
 * checked before the first is touched: exit code 4 for a file of someone else, 3 for an unknown service.
 */
export async function uninstallService(options: UninstallOptions): Promise<string[]> {
  requireServiceName(options.name)
  if (!options.dryRun) requireRoot('uninstall')
  const removal = await planRemoval(options)
  if (options.dryRun) return describe(removal)
  await carryOut(removal, options)
  return [`Uninstalled ${options.name}: removed ${removal.files.join(', ')}`]
}

async function planRemoval({ name, root, systems, dryRun }: UninstallOptions): Promise<Removal> {
  const found = await inspectService(name, { root, systems, trustsUnreadable: dryRun })
  const units = found.units.filter(({ owner }) => owner === 'own')
  const owners = units.length > 0 ? units.map(({ system }) => system) : findMarkedSystem(found, systems)
  if (owners.length === 0) throw await unownedService(name, found, { root, systems })
  requireMark(name, found, systems)
  const supporting = supportingFilesOf(found)
  const foreign = supporting.find(({ owner }) => owner === 'foreign')
  if (foreign) throw foreignFile(foreign)
  const isHere = root === '/'
  return {
    before: isHere ? await stopCommands(name, units, owners) : [],
    files: [
      ...(await findLinks(name, root, owners)),
      ...[...units, ...supporting].map(({ path }) => path),
      ...(await findTraces(name, root, owners)),
    ],
    // This runs also where no unit is left: a killed uninstall may not have come this far.
    after: isHere ? owners.flatMap((system) => system.forgetCommands(name)) : [],
    folders: [...new Set(owners.flatMap((system) => ownFolders(system, name)))].map((folder) =>
      join(root, folder),
    ),
  }
}

async function carryOut(
  { before, files, after, folders }: Removal,
  options: UninstallOptions,
): Promise<void> {
  const { name, root, systems } = options
  await controlAll(before)
  await removeAll(files, `${name} is stopped, but not uninstalled`)
  const paths = [
    ...systems.map((system) => unitFile(system, name)),
    ...[environmentFile, launcherFile].map((file) => file(name)),
    ...extraPaths(name, systems),
  ]
  await removeLeftovers(paths.map((path) => join(root, path)))
  await removeEmptyFolders(folders)
  await controlAll(after)
}

/** Removes files, of which some may be gone by now, such as the pid file. */
async function removeAll(paths: readonly string[], failure: string): Promise<void> {
  try {
    for (const path of paths) await rm(path, { force: true })
  } catch (error) {
    throw new CliError(`${failure}: ${errorMessage(error)}`, EXIT.failed)
  }
}

/** A unit that was removed by hand may still run. */
async function stopCommands(
  name: string,
  units: readonly FoundUnit[],
  owners: readonly InitSystem[],
): Promise<ControlCommand[]> {
  const commands = await Promise.all(
    units.length > 0
      ? units.map(({ system }) => system.stopCommands(name, { isGone: false }))
      : owners.map((system) => system.stopCommands(name, { isGone: true })),
  )
  return commands.flat()
}

async function unownedService(
  name: string,
  found: FoundService,
  options: Pick<UninstallOptions, 'root' | 'systems'>,
): Promise<CliError> {
  const [file] = [...found.units, ...supportingFilesOf(found)]
  return file ? foreignFile(file) : serviceNotFound(name, options)
}

async function findLinks(name: string, root: string, owners: readonly InitSystem[]): Promise<string[]> {
  const links = await Promise.all(owners.map((system) => system.links(name, root)))
  return links.flat()
}

/** Finds what the service and its init system left: its logs, its pid file, its lock, its last result and its stamp. */
async function findTraces(name: string, root: string, owners: readonly InitSystem[]): Promise<string[]> {
  const logs = owners.flatMap((system) => {
    const log = system.log(name)
    return 'file' in log ? [findLogs(join(root, log.file))] : []
  })
  return [
    ...(await Promise.all(logs)).flat(),
    ...(await findFiles(
      [
        ...[pidFile, lockFile, resultFile].map((file) => file(name)),
        ...owners.flatMap((system) => system.stateFiles(name, root)),
      ],
      root,
    )),
  ]
}

/** Finds which of the files exist below `root`. */
async function findFiles(files: readonly string[], root: string): Promise<string[]> {
  const paths = files.map((file) => join(root, file))
  const stats = await Promise.all(paths.map(lstatIfAny))
  return paths.filter((_, index) => stats[index] !== undefined && !stats[index].isDirectory())
}

/** Finds a log and the rotated ones, whose names logrotate gives a number or a date. */
async function findLogs(log: string): Promise<string[]> {
  const base = basename(log)
  const names = await namesIn(dirname(log))
  return names
    .filter((file) => file === base || file.startsWith(`${base}.`) || file.startsWith(`${base}-`))
    .map((file) => join(dirname(log), file))
}

const describe = ({ before, files, after }: Removal): string[] => [
  ...before.map(({ words }) => `would run     ${words.join(' ')}`),
  ...files.map((path) => `would remove  ${path}`),
  ...after.map(({ words }) => `would run     ${words.join(' ')}`),
]
