import { fileURLToPath } from 'node:url'
import { readMemoryLimit } from '../../classes/memory-limit.ts'
import { COMPILE_CACHE, QUIET } from '../../classes/node/node-options.ts'
import { CliError } from '../../cli/cli-error.ts'
import { EXIT } from '../../cli/exit-codes.ts'
import { type CallerTask, formatCallerOptions } from '../caller-options.ts'
import type { MethodCall } from '../method-call.ts'
import type { CommandWords } from '../runtime.ts'

const CALL_METHOD = fileURLToPath(new URL('call-method.ts', import.meta.url))

/** The command that calls, checks or documents a method. Throws a CliError (2) for an argument that is not UTF-8. */
export function methodCommand(call: MethodCall, env: NodeJS.ProcessEnv, task: CallerTask): CommandWords {
  const { className, method } = call.reference
  demandUtf8(call.args)
  const limit = readMemoryLimit(env)?.megabytes
  return [
    process.execPath,
    ...QUIET,
    ...(call.compileCache ? COMPILE_CACHE : []),
    ...(limit === undefined ? [] : [`--max-old-space-size=${limit}`]),
    CALL_METHOD,
    ...formatCallerOptions(call, task),
    '--',
    className.includes('#') ? `${className}::${method}` : `${className}#${method}`,
    ...call.args,
  ]
}

function demandUtf8(args: readonly string[]): void {
  const index = args.findIndex((arg) => !arg.isWellFormed())
  if (index === -1) return
  throw new CliError(
    `Argument ${index + 1} is not UTF-8; a TypeScript method can only receive UTF-8`,
    EXIT.usage,
  )
}
