import { fileURLToPath } from 'node:url'
import { findAutoloader, getAutoloader } from '../../classes/php/find-autoloader.ts'
import { askPhp } from '../../classes/php/find-php.ts'
import { iniOptions, readMemoryLimit } from '../../classes/start-options.ts'
import { formatCallerOptions } from '../method-call.ts'
import type { Runtime } from '../runtime.ts'

const CALL_METHOD = fileURLToPath(new URL('call-method.php', import.meta.url))

/** PHP classes, found by the project's autoloader and run by an installed php. */
export const phpRuntime: Runtime = {
  findBootstrap: (rootdir, env, { module }) =>
    module === undefined ? getAutoloader(rootdir, env) : findAutoloader(rootdir, env),
  async command(call, env, task) {
    const limit = readMemoryLimit(env)?.text
    return [
      await askPhp(env),
      ...iniOptions(limit ? [`memory_limit=${limit}`] : []),
      CALL_METHOD,
      ...formatCallerOptions(call, task),
    ]
  },
}
