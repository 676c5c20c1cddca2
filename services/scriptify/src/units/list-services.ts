import { readdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isServiceName } from '../service-name.ts'
import { inspectFile, lstatIfAny } from './inspect-service.ts'
import { environmentFile, MAIN_FILE, type ServiceTemplate, TEMPLATES } from './service.ts'
import { askState, type ServiceState } from './service-state.ts'

export interface ListedService extends Partial<ServiceState> {
  readonly name: string
  readonly template: ServiceTemplate
  /** What the init system reads. */
  readonly file: string
  /** Where its environment is kept. */
  readonly environment: string
  /** Written by the original tool. */
  readonly legacy: boolean
}

/**
 * Finds the services that scriptify installed below `root`, by their marks; ordered by name. Their state is that of this
 * machine, so it is `unknown` for those of another one.
 */
export async function listServices(
  root: string,
  { withState = false }: { withState?: boolean } = {},
): Promise<ListedService[]> {
  const found = await Promise.all(TEMPLATES.map((template) => listTemplate(template, root)))
  const services = found
    .flat()
    .sort((one, other) => (one.name < other.name ? -1 : Number(one.name > other.name)))
  if (!withState) return services
  const unknown = { state: 'unknown', startsAtBoot: 'unknown' } as const
  return Promise.all(
    services.map(async (service) => ({
      ...service,
      ...(root === '/' ? await askState(service.name, service.template) : unknown),
    })),
  )
}

async function listTemplate(template: ServiceTemplate, root: string): Promise<ListedService[]> {
  const [folder, ending] = [
    dirname(MAIN_FILE[template]('x')),
    MAIN_FILE[template]('').split('/').at(-1) ?? '',
  ]
  const files = (await lstatIfAny(join(root, folder)))?.isDirectory() ? await readdir(join(root, folder)) : []
  const names = files
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, file.length - ending.length))
    .filter(isServiceName)
  const services = await Promise.all(names.map((name) => describe(name, template, root)))
  return services.filter((service) => service !== undefined)
}

async function describe(
  name: string,
  template: ServiceTemplate,
  root: string,
): Promise<ListedService | undefined> {
  // Everybody may list: what they may not read is somebody else's, for ours are readable.
  const file = await inspectFile(join(root, MAIN_FILE[template](name)), name).catch(() => undefined)
  if (file === undefined || file.owner === 'foreign') return undefined
  return {
    name,
    template,
    file: file.path,
    environment: join(root, environmentFile(name)),
    legacy: file.owner === 'legacy',
  }
}
