import type { CliContext } from '../cli/cli-context.ts'
import { CliError } from '../cli/cli-error.ts'
import { parseEnvEntries } from '../cli/env-entries.ts'
import { EXIT } from '../cli/exit-codes.ts'
import { loadRuntime } from './registry.ts'
import { replaceProcess as replaceThisProcess } from './replace-process.ts'
import { type CallOptions, resolveCall } from './resolve-call.ts'

export interface RunOptions extends CallOptions {
  reference: string
  env: readonly string[]
  /** What to do with the method; of a class alone the methods are listed. */
  task: 'call' | 'docs' | 'methods'
}

/** Becomes the process that calls the method, prints its documentation, or lists the methods of a class; throws a CliError. */
export async function runMethod(
  { reference, env: entries, task, ...options }: RunOptions,
  { env: inherited, replaceProcess = replaceThisProcess }: CliContext = process,
): Promise<number> {
  demandUtf8([reference, options.rootdir, options.bootstrap])
  const env = { ...inherited, ...parseEnvEntries(entries) }
  const call = await resolveCall(reference, options, env)
  const runtime = await loadRuntime(call.reference.runtime)
  if (task === 'methods' || call.reference.method === '')
    return replaceProcess(await runtime.methodsCommand(call, env), env)
  return replaceProcess(
    await (task === 'docs' ? runtime.docsCommand(call, env) : runtime.callCommand(call, env)),
    env,
  )
}

function demandUtf8(words: readonly (string | undefined)[]): void {
  const invalid = words.find((word) => word !== undefined && !word.isWellFormed())
  if (invalid === undefined) return
  throw new CliError(
    `${JSON.stringify(invalid)} is not UTF-8; only an --arg may contain other bytes`,
    EXIT.usage,
  )
}
