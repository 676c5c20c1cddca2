import type { InitSystem } from './init-system.ts'
import { inspectService } from './inspect-service.ts'
import { listServices, serviceNotFound } from './list-services.ts'
import { refuseLostMark } from './lost-mark.ts'
import { checkServiceName } from './service-name.ts'

/** The init system of an installed service; throws exit code 2 for an invalid name, 3 for an unknown one. */
export async function findServiceSystem(name: string, systems: readonly InitSystem[]): Promise<InitSystem> {
  checkServiceName(name)
  const options = { root: '/', systems }
  const found = (await listServices(options)).find((service) => service.name === name)
  const system = systems.find((known) => known.name === found?.template)
  if (system !== undefined) return system
  refuseLostMark(name, await inspectService(name, { ...options, trustsUnreadable: true }), systems)
  throw await serviceNotFound(name, options)
}
