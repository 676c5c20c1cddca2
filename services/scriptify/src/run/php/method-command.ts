import { fileURLToPath } from 'node:url'
import { readMemoryLimit } from '../../classes/memory-limit.ts'
import { askPhp } from '../../classes/php/find-php.ts'
import { iniOptions } from '../../classes/php/ini-options.ts'
import { decodeRawBytes } from '../../cli/raw-bytes.ts'
import { type CallerTask, formatCallerOptions } from '../caller-options.ts'
import type { MethodCall } from '../method-call.ts'
import type { CommandWords } from '../runtime.ts'

const CALL_METHOD = fileURLToPath(new URL('call-method.php', import.meta.url))

/** The command that calls, checks or documents a method. */
export async function methodCommand(
  call: MethodCall,
  env: NodeJS.ProcessEnv,
  task: CallerTask,
): Promise<CommandWords> {
  const path = await askPhp(env)
  const { className, method } = call.reference
  const limit = readMemoryLimit(env)?.text
  const { args, hexIndexes } = encodeArguments(call.args)
  return [
    path,
    ...iniOptions(limit ? [`memory_limit=${limit}`] : []),
    CALL_METHOD,
    ...formatCallerOptions(call, task),
    ...(hexIndexes.length === 0 ? [] : [`--hex=${hexIndexes.join(',')}`]),
    '--',
    `${className}::${method}`,
    ...args,
  ]
}

/** Node can only pass UTF-8 in argv: any other argument is passed as hexadecimal digits. */
function encodeArguments(args: readonly string[]): { args: string[]; hexIndexes: number[] } {
  return {
    args: args.map((arg) => (arg.isWellFormed() ? arg : decodeRawBytes(arg).toString('hex'))),
    hexIndexes: args.flatMap((arg, index) => (arg.isWellFormed() ? [] : [index])),
  }
}
