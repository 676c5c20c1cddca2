import { join } from 'node:path'
import { didYouMean } from '@latchkey/text/closest-name.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { namesIn } from './folders.ts'
import type { InitSystem } from './init-system.ts'
import { inspectUnit } from './inspect-service.ts'
import { environmentFile, serviceOfEntry, unitFolder } from './paths.ts'
import { isServiceName } from './service-name.ts'

export interface ListedService {
  readonly name: string
  /** The name of its init system. */
  readonly template: string
  /** The path of the file that the init system reads. */
  readonly file: string
  /** The path of the file with its environment. */
  readonly environment: string
}

interface ListOptions {
  /** `/`, or the folder where the files of another host are mounted. */
  readonly root: string
  readonly systems: readonly InitSystem[]
}

/** Finds the services that scriptify installed, by the marks in their units; ordered by name. */
export async function listServices(options: ListOptions): Promise<ListedService[]> {
  const found = await Promise.all(options.systems.map((system) => listSystem(system, options)))
  return found.flat().sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)))
}

/** Returns the error for a name that no service has. */
export async function serviceNotFound(name: string, options: ListOptions): Promise<CliError> {
  const names = (await listServices(options)).map((service) => service.name)
  return new CliError(`Service ${name} does not exist${didYouMean(name, names)}`, EXIT.notFound)
}

async function listSystem(system: InitSystem, options: ListOptions): Promise<ListedService[]> {
  const entries = await namesIn(join(options.root, unitFolder(system)))
  const names = entries
    .map((entry) => serviceOfEntry(system, entry))
    .filter((name) => name !== undefined)
    .filter(isServiceName)
  const services = await Promise.all(names.map((name) => describe(name, system, options)))
  return services.filter((service) => service !== undefined)
}

async function describe(
  name: string,
  system: InitSystem,
  { root, systems }: ListOptions,
): Promise<ListedService | undefined> {
  // Every user may list: scriptify's units are readable, so one that is not belongs to someone else.
  const file = await inspectUnit(system, { name, root, systems }).catch(() => undefined)
  if (file === undefined || file.owner === 'foreign') return undefined
  return {
    name,
    template: system.name,
    file: file.path,
    environment: join(root, environmentFile(name)),
  }
}
