import { findBootloader } from '../../classes/bootloader.ts'
import type { Runtime } from '../runtime.ts'
import { methodCommand } from './method-command.ts'

/** TypeScript and JavaScript classes and exported functions, run by the same Node as scriptify. */
export const nodeRuntime: Runtime = {
  name: 'node',
  findBootstrap: (rootdir, env) => findBootloader(rootdir, env, 'node'),
  callCommand: async (call, env) => methodCommand(call, env, 'call'),
  checkCommand: async (call, env) => methodCommand(call, env, 'check'),
  docsCommand: async (call, env) => methodCommand({ ...call, args: [], jsonArgs: [] }, env, 'docs'),
  methodsCommand: async (call, env) => methodCommand({ ...call, args: [], jsonArgs: [] }, env, 'methods'),
}
