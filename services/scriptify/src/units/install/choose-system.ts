import type { InitSystem } from '../init-system.ts'
import { listServices } from '../list-services.ts'

export interface SystemChoice {
  /** The name of an init system. */
  template: string | undefined
  force: boolean
  root: string
  systems: readonly InitSystem[]
}

/** Returns the init system that is given, else that of the service to be replaced, else the first. */
export async function chooseSystem(
  name: string,
  { template, force, root, systems }: SystemChoice,
): Promise<InitSystem> {
  const installed = template === undefined && force ? await listServices({ root, systems }) : []
  const wanted = template ?? installed.find((service) => service.name === name)?.template ?? systems[0]?.name
  const system = systems.find((known) => known.name === wanted)
  // Commander takes registered names only.
  if (system === undefined) throw new Error(`${wanted} is not an init system`)
  return system
}
