import { pathToFileURL } from 'node:url'
import { printableLines } from '@latchkey/text/printable.ts'
import { importModule, useProjectSyntax } from '../../classes/node/project-syntax.ts'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { requireEnterableFolder, requireReadableFile } from '../../io/require-path.ts'
import { exitOnFailedOutput } from '../../io/standard-streams.ts'
import type { CallerOptions } from '../method-call.ts'
import { callRepeatedly } from './daemon.ts'
import { describeError, MAX_FRAMES, printError } from './describe-error.ts'
import { type ExitWatcher, watchExit } from './exit-watcher.ts'
import { readArguments } from './read-arguments.ts'
import { asClass, displayName, findTarget, namesClass, requireCallable, type Target } from './target.ts'

/** Calls, checks or documents the method, and ends the process on failure. */
export async function runTask(options: CallerOptions): Promise<void> {
  const describe = (error: unknown) => describeError(error, options)
  const exits = watchExit({ describe, goal: 'the method was called' })
  if (options.trace) Error.stackTraceLimit = MAX_FRAMES
  try {
    await loadAndRun(options, exits)
    exits.permitExit()
  } catch (error) {
    exits.permitExit()
    printError(describe(error))
    // Exits although connections may still be open: a supervisor waits to start it again.
    process.exit(error instanceof CliError ? error.exitCode : EXIT.failed)
  }
}

async function loadAndRun(options: CallerOptions, exits: ExitWatcher): Promise<void> {
  const { task, bootstrap, module = '', className } = options
  requireEnterableFolder(options.rootdir, 'The root directory')
  process.chdir(options.rootdir)
  await useProjectSyntax(options.rootdir)
  if (bootstrap !== undefined) {
    exits.forbidExit(`The bootstrap ${bootstrap}`)
    await load(bootstrap, 'bootstrap', options)
  }
  exits.forbidExit(`Loading ${className === undefined ? module : `the class ${className}`}`)
  const exports = await load(module, 'module', options)
  if (task === 'methods' || (task === 'call' && namesClass(exports, options))) {
    return printClassMethods(exports, asClass(options))
  }
  const target = await findTarget(exports, options)
  if (task === 'docs') return printDocs(target, options)
  await requireCallable(target, options)
  const args = await readArguments(target, options)
  if (task === 'check') {
    exits.permitExit()
    // Loading may have opened something that keeps the process alive.
    process.exit(EXIT.ok)
  }
  exits.permitExit(displayName(options))
  exitOnFailedOutput()
  await callTarget(target, args, options)
}

async function load(
  file: string,
  kind: 'bootstrap' | 'module',
  options: CallerOptions,
): Promise<Record<string, unknown>> {
  // The error of an import does not tell an unreadable file from one whose own code was denied something.
  requireReadableFile(file, `The ${kind}`)
  try {
    return await importModule(pathToFileURL(file).href)
  } catch (error) {
    throw new CliError(`The ${kind} ${file} failed: ${describeError(error, options)}`, EXIT.failed)
  }
}

async function printDocs(target: Target, { text }: CallerOptions): Promise<void> {
  const { readSignature, formatDocs } = await import('../../classes/node/signature.ts')
  process.stdout.write(printableLines(formatDocs(text, readSignature(target))))
}

async function printClassMethods(exports: Record<string, unknown>, options: CallerOptions): Promise<void> {
  const { listMethods } = await import('./list-methods.ts')
  process.stdout.write(printableLines(await listMethods(exports, options)))
}

async function callTarget(target: Target, args: unknown[], options: CallerOptions): Promise<void> {
  const callable = target.bind()
  const callOnce = async () => {
    const result = await callable(...args)
    // Nothing of a generator runs until its values are asked for.
    for await (const value of isGenerator(result) ? result : [result]) {
      if (options.print) console.log(toJson(value, options))
    }
  }
  if (options.daemon === undefined) return callOnce()
  await callRepeatedly(callOnce, options.daemon.interval)
  process.exit(EXIT.ok)
}

const isGenerator = (value: unknown): value is AsyncIterable<unknown> =>
  /^\[object (Async)?Generator\]$/.test(Object.prototype.toString.call(value))

/** The entries of a map and the values of a set: JSON would write both as {}. */
const withCollections = (_key: string, value: unknown): unknown =>
  value instanceof Map || value instanceof Set ? [...value] : value

function toJson(result: unknown, options: CallerOptions): string {
  try {
    return JSON.stringify(result, withCollections) ?? 'null'
  } catch (error) {
    throw new Error(`The result of ${displayName(options)} cannot be written as JSON`, { cause: error })
  }
}
