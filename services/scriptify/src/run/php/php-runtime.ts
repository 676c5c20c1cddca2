import { getAutoloader } from '../../classes/php/find-autoloader.ts'
import type { Runtime } from '../runtime.ts'
import { methodCommand } from './method-command.ts'

/** PHP classes, found by the project's autoloader and run by an installed php. */
export const phpRuntime: Runtime = {
  name: 'php',
  findBootstrap: getAutoloader,
  callCommand: (call, env) => methodCommand(call, env, 'call'),
  checkCommand: (call, env) => methodCommand(call, env, 'check'),
  docsCommand: (call, env) => methodCommand({ ...call, args: [], jsonArgs: [] }, env, 'docs'),
  methodsCommand: (call, env) => methodCommand({ ...call, args: [], jsonArgs: [] }, env, 'methods'),
}
