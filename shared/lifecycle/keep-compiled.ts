import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

/**
 * Keeps what Node compiles for the next start. In the checkout: in Node's default, the temporary
 * directory, another user of the machine could leave code for this process. `NODE_COMPILE_CACHE` names another directory.
 */
export function keepCompiled(): void {
  process.env.NODE_COMPILE_CACHE ??= join(import.meta.dirname, '../../node_modules/.cache/node')
  enableCompileCache(process.env.NODE_COMPILE_CACHE)
}
