import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { Runtime } from './runtime.ts'

const RUNTIMES: Record<RuntimeName, () => Promise<Runtime>> = {
  php: async () => (await import('./php/runtime.ts')).phpRuntime,
  node: async () => (await import('./node/runtime.ts')).nodeRuntime,
}

/** Loads one language; the other costs nothing. */
export const loadRuntime = (name: RuntimeName): Promise<Runtime> => RUNTIMES[name]()
