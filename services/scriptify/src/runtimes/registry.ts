import type { RuntimeName } from './choose-runtime.ts'
import { nodeRuntime } from './node/node-runtime.ts'
import { phpRuntime } from './php/php-runtime.ts'
import type { Runtime } from './runtime.ts'

/** Every runtime, by its name. */
export const runtimes: Record<RuntimeName, Runtime> = { php: phpRuntime, node: nodeRuntime }
