import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { Runtime } from './runtime.ts'

const RUNTIMES: Record<RuntimeName, () => Promise<Runtime>> = {
  php: async () => (await import('./php/php-runtime.ts')).phpRuntime,
  node: async () => (await import('./node/node-runtime.ts')).nodeRuntime,
}

/** A runtime by its name. */
export const loadRuntime = (name: RuntimeName): Promise<Runtime> => RUNTIMES[name]()
