import { extname, join } from 'node:path'
import { findBootloader } from '../../classes/bootloader.ts'
import { COMPILE_CACHE, QUIET, readMemoryLimit } from '../../classes/start-options.ts'
import { formatCallerOptions } from '../method-call.ts'
import type { Runtime } from '../runtime.ts'

const CALL_METHOD = join(import.meta.dirname, `call-method${extname(import.meta.filename)}`)

/** TypeScript and JavaScript classes and exported functions, run by the same Node as scriptify. */
export const nodeRuntime: Runtime = {
  findBootstrap: (rootdir, env) => findBootloader(rootdir, env, 'node'),
  async command(call, env, task) {
    const limit = readMemoryLimit(env)?.megabytes
    return [
      process.execPath,
      ...QUIET,
      ...(call.compileCache ? COMPILE_CACHE : []),
      ...(limit === undefined ? [] : [`--max-old-space-size=${limit}`]),
      CALL_METHOD,
      ...formatCallerOptions(call, task),
    ]
  },
}
