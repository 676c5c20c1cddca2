import { dirname, join } from 'node:path'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'
import { checkFolder } from '../folders.ts'
import type { InitSystem } from '../init-system.ts'
import { type FoundFile, inspectService, refuseForeign } from '../inspect-service.ts'
import { lstatIfAny } from '../lstat-if-any.ts'
import { SCRIPTIFY_DIR } from '../paths.ts'
import { ownFolders, unitFile, unitFolder } from '../unit-path.ts'
import type { InstallRequest } from './install-request.ts'

/**
 * The existing files of this service, each known to be scriptify's. Throws exit code 4 for a file of someone else, 3 for a
 * missing folder, 2 for an installed service without --force.
 */
export async function claimFiles(
  request: InstallRequest,
  systems: readonly InitSystem[],
): Promise<FoundFile[]> {
  await checkFolders(request)
  const { name, system, root, force } = request
  const { units, environment, launcher } = await inspectService(name, { root, systems })
  const unit = units.find((found) => found.system === system)
  const files = [unit, environment, launcher].filter((file) => file !== undefined)
  const foreign = files.find(({ owner }) => owner === 'foreign')
  if (foreign) throw refuseForeign(foreign)
  const other = units.find((found) => found.system !== system && found.owner !== 'foreign')
  if (other !== undefined) {
    throw new CliError(`${name} is installed for ${other.system.name}: uninstall it first`, EXIT.usage)
  }
  if (force) return files
  if (unit !== undefined) {
    throw new CliError(`${name} is already installed (${unit.path}): --force replaces it`, EXIT.usage)
  }
  await refuseNamesake(request, systems)
  return files
}

async function checkFolders({ name, system, root }: InstallRequest): Promise<void> {
  for (const folder of [unitFolder(system), dirname(SCRIPTIFY_DIR)]) await checkFolder(root, folder)
  for (const folder of ownFolders(system, name)) {
    if (await lstatIfAny(join(root, folder))) await checkFolder(root, folder)
  }
}

/** Refuses a service of the distribution that ours would hide, or that would hide ours. */
async function refuseNamesake(
  { name, system, root }: InstallRequest,
  systems: readonly InitSystem[],
): Promise<void> {
  if (system.namesakes(name).length === 0) return
  const paths = systems
    .flatMap((known) => known.namesakes(name))
    .filter((path) => path !== unitFile(system, name))
    .map((path) => join(root, path))
  for (const path of paths) {
    if (!(await lstatIfAny(path))) continue
    throw new CliError(
      `${path} is a service ${name} that scriptify did not install: choose another name, or --force`,
      EXIT.notPermitted,
    )
  }
}
