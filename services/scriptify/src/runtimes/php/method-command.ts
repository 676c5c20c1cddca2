import { fileURLToPath } from 'node:url'
import { decodeRawBytes } from '../../raw-bytes.ts'
import { type LauncherTask, launcherOptions } from '../caller-options.ts'
import { readMemoryLimit } from '../memory-limit.ts'
import type { CommandWords, MethodCall, MethodRuntime } from '../runtime.ts'
import { findPhp } from './find-php.ts'

const LAUNCHER = fileURLToPath(new URL('call-method.php', import.meta.url))
// What a method prints goes to stdout, and what php has to say about it does not.
const SETTINGS = ['display_errors=stderr', 'log_errors=0', 'html_errors=0']

/** Methods of PHP classes, which the project's autoloader finds. */
export const phpMethods: MethodRuntime = {
  name: 'php',
  command: (call, env) => words(call, env, 'call'),
  checkCommand: (call, env) => words(call, env, 'check'),
  docsCommand: (call, env) => words({ ...call, args: [], jsonArgs: [] }, env, 'docs'),
}

async function words(call: MethodCall, env: NodeJS.ProcessEnv, task: LauncherTask): Promise<CommandWords> {
  const { path } = await findPhp(env)
  const { className, method } = call.reference
  const limit = readMemoryLimit(env)?.text
  const settings = limit ? [...SETTINGS, `memory_limit=${limit}`] : SETTINGS
  const { args, hex } = asWords(call.args)
  return [
    path,
    ...settings.flatMap((setting) => ['-d', setting]),
    LAUNCHER,
    ...launcherOptions(call, task),
    ...(hex.length === 0 ? [] : [`--hex=${hex.join(',')}`]),
    '--',
    `${className}::${method}`,
    ...args,
  ]
}

/** Node can only hand over words that are UTF-8; an argument that is not goes as hexadecimal digits. */
function asWords(args: readonly string[]): { args: string[]; hex: number[] } {
  const hex = args.flatMap((arg, index) => (arg.isWellFormed() ? [] : [index]))
  return {
    args: args.map((arg) => (arg.isWellFormed() ? arg : decodeRawBytes(arg).toString('hex'))),
    hex,
  }
}
