import { fileURLToPath } from 'node:url'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'
import { type LauncherTask, launcherOptions } from '../caller-options.ts'
import { readMemoryLimit } from '../memory-limit.ts'
import type { CommandWords, MethodCall, MethodRuntime } from '../runtime.ts'

const LAUNCHER = fileURLToPath(new URL('call-method.ts', import.meta.url))

/** Methods of TypeScript and JavaScript classes and exported functions, called by the Node that runs scriptify. */
export const nodeMethods: MethodRuntime = {
  name: 'node',
  command: async (call, env) => words(call, env, 'call'),
  checkCommand: async (call, env) => words(call, env, 'check'),
  docsCommand: async (call, env) => words({ ...call, args: [], jsonArgs: [] }, env, 'docs'),
}

function words(call: MethodCall, env: NodeJS.ProcessEnv, task: LauncherTask): CommandWords {
  const { className, method } = call.reference
  const raw = call.args.findIndex((arg) => !arg.isWellFormed())
  if (raw !== -1) {
    throw new CliError(
      `Argument ${raw + 1} is no UTF-8, which a TypeScript method could not receive as it is`,
      EXIT.usage,
    )
  }
  const limit = readMemoryLimit(env)?.megabytes
  return [
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    // A project without "type" in its package.json is not to hear of it in every call.
    '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
    ...(limit === undefined ? [] : [`--max-old-space-size=${limit}`]),
    LAUNCHER,
    ...launcherOptions(call, task),
    ...(call.compileCache ? ['--compile-cache'] : []),
    '--',
    className.includes('#') ? `${className}::${method}` : `${className}#${method}`,
    ...call.args,
  ]
}
