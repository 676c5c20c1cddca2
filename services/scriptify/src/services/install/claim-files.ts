import { dirname, join } from 'node:path'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { lstatIfAny, requireFolder } from '../folders.ts'
import type { ExtraFile, InitSystem } from '../init-system.ts'
import { type FoundFile, type FoundService, foreignFile, requireMark } from '../inspect-service.ts'
import { extraPath, ownFolders, SCRIPTIFY_DIR, unitFile, unitFolder } from '../paths.ts'
import type { ParsedService } from './parse-service.ts'
import { neededExtras } from './render-service.ts'

/** Finds the extra files of this service that can be written; an optional one is left out if its folder does not exist. */
export async function findExtras(service: ParsedService, system: InitSystem): Promise<ExtraFile[]> {
  const { name, root } = service
  const needed = neededExtras(service, system)
  const folders = await Promise.all(
    needed.map((extra) => lstatIfAny(join(root, dirname(extraPath(extra, name))))),
  )
  return needed.filter(({ isOptional }, index) => !isOptional || folders[index] !== undefined)
}

/**
 * The existing files of this service, each known to be scriptify's. Throws exit code 4 for a file of someone else, 3 for a
 * missing folder, 2 for an installed service without --force.
 */
export async function claimFiles(
  service: ParsedService,
  system: InitSystem,
  {
    systems,
    extras,
    found,
    force,
  }: { systems: readonly InitSystem[]; extras: readonly ExtraFile[]; found: FoundService; force: boolean },
): Promise<FoundFile[]> {
  await requireFolders(service, system)
  const { name, root } = service
  const { units, environment, launcher } = found
  const unit = units.find((known) => known.system === system)
  const written = extras.map((extra) => join(root, extraPath(extra, name)))
  const replaced = found.extras.filter(({ path }) => written.includes(path))
  const files = [unit, environment, launcher, ...replaced].filter((file) => file !== undefined)
  requireMark(name, found, systems)
  const foreign = files.find(({ owner }) => owner === 'foreign')
  if (foreign) throw foreignFile(foreign)
  if (unit === undefined) {
    await requireFreeName(service, system, systems)
    return files
  }
  if (!force) {
    throw new CliError(`${name} is already installed (${unit.path}): --force replaces it`, EXIT.usage)
  }
  requireExpectedKind(service, { found, extras })
  return files
}

/** Refuses to change the init system of a service: the other one would continue to start it. */
export function requireSameSystem(name: string, system: InitSystem, { units }: FoundService): void {
  const other = units.find((known) => known.system !== system && known.owner === 'own')
  if (other === undefined) return
  throw new CliError(`${name} is installed for ${other.system.name}: uninstall it first`, EXIT.usage)
}

/** Refuses to change the kind of a service: its old timer or cron job would continue to start it. */
function requireExpectedKind(
  { name, root }: ParsedService,
  { found, extras }: { found: FoundService; extras: readonly ExtraFile[] },
): void {
  const own = found.extras.filter(({ owner }) => owner === 'own').map(({ path }) => path)
  const pathOf = (extra: ExtraFile) => join(root, extraPath(extra, name))
  const surplus = own.find((path) => !extras.map(pathOf).includes(path))
  const missing = extras.find((extra) => !extra.isOptional && !own.includes(pathOf(extra)))
  if (surplus === undefined && missing === undefined) return
  const how = missing === undefined ? 'with' : 'without'
  throw new CliError(`${name} is installed ${how} a schedule: uninstall it first`, EXIT.usage)
}

async function requireFolders({ name, root }: ParsedService, system: InitSystem): Promise<void> {
  for (const folder of [unitFolder(system), dirname(SCRIPTIFY_DIR)]) await requireFolder(root, folder)
  for (const folder of ownFolders(system, name)) {
    if (await lstatIfAny(join(root, folder))) await requireFolder(root, folder)
  }
}

/** Refuses the name of a service that scriptify did not install: one would hide the other. */
async function requireFreeName(
  { name, root }: ParsedService,
  system: InitSystem,
  systems: readonly InitSystem[],
): Promise<void> {
  const paths = systems
    .flatMap((known) => known.namesakes(name))
    .filter((path) => path !== unitFile(system, name))
    .map((path) => join(root, path))
  const stats = await Promise.all(paths.map(lstatIfAny))
  const taken = paths.find((_, index) => stats[index] !== undefined)
  if (taken === undefined) return
  throw new CliError(
    `${taken} is a service ${name} that scriptify did not install: choose another name`,
    EXIT.notPermitted,
  )
}
