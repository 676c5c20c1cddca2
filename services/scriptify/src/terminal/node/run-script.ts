// The program that runs a script: run-script.ts <setup as JSON> [script]
import type { EventEmitter } from 'node:events'
import { readFileSync } from 'node:fs'
import { createRequire, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { types } from 'node:util'
import { importModule, useProjectSyntax } from '../../classes/node/project-syntax.ts'
import { CliError } from '../../io/cli-error.ts'
import { exitOnFailedOutput } from '../../io/standard-streams.ts'
import { describeError, printError } from '../../run/node/describe-error.ts'
import { watchExit } from '../../run/node/exit-watcher.ts'
import { decodeScript } from '../front/charset.ts'
import { printableInColours } from '../front/coloured-text.ts'
import type { ScriptSetup } from '../front/script.ts'
import { AWAITED } from './evaluator.ts'
import { defineGlobal } from './session-globals.ts'
import { hideOwnFrames, SCRIPT_NAME } from './stack-frames.ts'

const [setup = '', given] = process.argv.splice(1).slice(1)
const describe = (error: unknown) => describeError(error, { task: 'call', trace: true })
const exits = watchExit({ describe, goal: 'the script began' })

exitOnFailedOutput()
hideOwnFrames()
// It is not awaited: a script that never settles would end the process with Node's own exit code and message.
void run(JSON.parse(setup) as ScriptSetup).catch((error) => {
  exits.permitExit()
  // Node tells a handler of the script, which this one may have, of an error at its top level too.
  const events: EventEmitter = process
  if (!(error instanceof CliError)) return events.emit('uncaughtException', error, 'unhandledRejection')
  printError(describe(error))
  process.exit(error.exitCode)
})

async function run({ rootdir, cwd, autoloader, preload, prints, colors }: ScriptSetup): Promise<void> {
  process.chdir(rootdir)
  const url = pathToFileURL(join(cwd, SCRIPT_NAME)).href
  const code = given ?? decodeScript(readFileSync(0))
  const { code: source, shows } = prints
    ? (await import('./last-value.ts')).exportLastValue(code)
    : ({ code, shows: 'nothing' } as const)
  offerModule(url, source)
  await useProjectSyntax(rootdir)
  await load(autoloader, 'autoloader')
  for (const [name, value] of Object.entries(await load(preload, 'preload'))) defineGlobal(name, value)
  process.chdir(cwd)
  // Not enumerable, as in Node's own prompt: it shows the modules of scriptify.
  const require = { value: createRequire(url), writable: true, configurable: true }
  Object.defineProperty(globalThis, 'require', require)
  exits.permitExit('The script')
  const { default: last } = await importModule(url)
  const value = types.isPromise(last) && AWAITED in last ? await last : last
  exits.permitExit()
  if (shows === 'value' || (shows === 'non-null' && value != null)) await print(value, colors)
  // An open connection of the preload would keep the process alive.
  Reflect.get(globalThis, 'executor')?.close?.()
}

/** Makes a script the module of this URL. */
function offerModule(url: string, source: string): void {
  registerHooks({
    resolve: (specifier, context, next) =>
      specifier === url ? { url, shortCircuit: true } : next(specifier, context),
    load: (loaded, context, next) =>
      loaded === url ? { format: 'module-typescript', source, shortCircuit: true } : next(loaded, context),
  })
}

async function load(
  file: string | undefined,
  kind: 'autoloader' | 'preload',
): Promise<Record<string, unknown>> {
  if (file === undefined) return {}
  exits.forbidExit(`The ${kind} ${file}`)
  return importModule(pathToFileURL(file).href)
}

async function print(value: unknown, colors: boolean): Promise<void> {
  if (isPending(value)) return
  const { render } = await import('./render.ts')
  console.log(printableInColours(render(value, { colors })))
}

/** True where a script only started something: what it waits for at its end has no value yet. */
const isPending = (value: unknown): boolean =>
  types.isPromise(value) ||
  (typeof value === 'object' && value !== null && !types.isProxy(value) && 'hasRef' in value)
