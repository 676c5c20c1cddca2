import { createRequire } from 'node:module'
import { basename, relative } from 'node:path'
import { formatDocs, readSignature } from '../../src/classes/node/signature.ts'
import { CliError } from '../../src/io/cli-error.ts'
import type { CallerOptions } from '../../src/run/method-call.ts'
import { describeError, MAX_FRAMES } from '../../src/run/node/describe-error.ts'
import { readArguments } from '../../src/run/node/read-arguments.ts'
import { findTarget, requireCallable } from '../../src/run/node/target.ts'
import { resolveReference } from '../../src/run/resolve-reference.ts'
import type { Ended } from '../run-in-process.ts'

/** Loads a module as Node does; Vite would give its classes other names. */
const require = createRequire(import.meta.url)

interface Here {
  options: CallerOptions
  exports: Record<string, unknown>
}

/** Finds a method of TypeScript, its module loaded in this process. */
function load(rootdir: string, text: string, args: readonly string[]): Here {
  const none = { runtime: undefined, bootstrap: undefined, env: {} }
  const { runtime: _, ...reference } = resolveReference(text, { rootdir, ...none })
  const exports = require(reference.module ?? '')
  return { options: { task: 'call', ...reference, args, rootdir }, exports }
}

/** Calls a method as `run --print` does, but in this process, for what depends on the method and its arguments only. */
export const callHere = (rootdir: string, text: string, args: readonly string[]): Promise<Ended> =>
  endingAsRun(async () => {
    const { options, exports } = load(rootdir, text, args)
    const target = await findTarget(exports, options)
    await requireCallable(target, options)
    const values = await readArguments(target, options)
    return `${JSON.stringify(await target.bind()(...values))}\n`
  })

/** Documents a method as `run --showdocs` does, but in this process. */
export const describeHere = (rootdir: string, text: string): Promise<Ended> =>
  endingAsRun(async () => {
    const { options, exports } = load(rootdir, text, [])
    return formatDocs(text, readSignature(await findTarget(exports, options)))
  })

async function endingAsRun(act: () => Promise<string>): Promise<Ended> {
  try {
    return { code: 0, stdout: await act(), stderr: '' }
  } catch (error) {
    if (!(error instanceof CliError)) throw error
    return { code: error.exitCode, stdout: '', stderr: `${error.message}\n` }
  }
}

/** The line and the trace of a method's failure, with no frames of what called it here. */
export async function failHere(rootdir: string, text: string): Promise<{ line: string; trace: string }> {
  const { options, exports } = load(rootdir, text, [])
  const { bind } = await findTarget(exports, options)
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = MAX_FRAMES
  try {
    await bind()()
  } catch (error) {
    const frame = RegExp(`\\n {4}at (?!.*${basename(options.module ?? '')}:).*`, 'g')
    // `run` names the files from the project's folder.
    const folder = `${relative(process.cwd(), rootdir)}/`
    const describe = (trace: boolean) =>
      describeError(error, { task: 'call', trace }).replaceAll(frame, '').replaceAll(folder, '')
    return { line: describe(false), trace: describe(true) }
  } finally {
    Error.stackTraceLimit = limit
  }
  throw new Error(`${text} has not failed`)
}
