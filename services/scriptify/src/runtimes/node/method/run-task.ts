import { statSync } from 'node:fs'
import { pathToFileURL } from 'node:url'
import { CliError } from '../../../cli-error.ts'
import { EXIT } from '../../../exit-codes.ts'
import { nameOf, type Orders } from './caller-options.ts'
import { endWithReader } from './closed-output.ts'
import { watchSignals } from './daemon.ts'
import { describe, type Ending, watchEnding } from './exit-guard.ts'
import { findTarget, type Target } from './target.ts'

/** Carries out the orders, step by step. */
export async function obey(orders: Orders): Promise<void> {
  const ending = watchEnding()
  try {
    await carryOut(orders, ending)
    ending.during(undefined)
  } catch (error) {
    ending.during(undefined)
    console.error(error instanceof CliError ? error.message : describe(error))
    // Not left to the end of what is still open: it failed, and a supervisor waits to start it again.
    process.exit(error instanceof CliError ? error.exitCode : EXIT.failed)
  }
}

async function carryOut(orders: Orders, ending: Ending): Promise<void> {
  const { task, rootdir, bootstrap, module, className } = orders
  try {
    process.chdir(rootdir)
  } catch (error) {
    const isClosed = error instanceof Error && 'code' in error && error.code === 'EACCES'
    const what = isClosed ? 'may not be entered by this user' : 'does not exist'
    throw new CliError(`The root directory ${rootdir} ${what}`, EXIT.notFound)
  }
  if (bootstrap !== undefined) {
    ending.during(`The bootstrap ${bootstrap}`)
    await load(bootstrap, 'bootstrap')
  }
  ending.during(`Loading ${className === undefined ? module : `the class ${className}`}`)
  const target = await findTarget(await load(module, 'module'), orders)
  if (task === 'docs') {
    const { readSignature, formatDocs } = await import('../declarations/signature.ts')
    process.stdout.write(formatDocs(orders.as, await readSignature(orders, target)))
    return
  }
  await target.demandCallable(orders.args.length)
  const args = parseArguments(orders)
  if (task === 'check') {
    // Loading may have opened what keeps a process alive.
    ending.during(undefined)
    process.exit(EXIT.ok)
  }
  // What the method itself wants by process.exit() is its own business.
  ending.during(undefined)
  ending.waitingFor(nameOf(orders))
  endWithReader()
  await callTarget(target, args, orders)
}

async function load(file: string, what: 'bootstrap' | 'module'): Promise<Record<string, unknown>> {
  if (!statSync(file, { throwIfNoEntry: false })?.isFile()) {
    throw new CliError(`The ${what} ${file} does not exist`, EXIT.notFound)
  }
  try {
    return await import(pathToFileURL(file).href)
  } catch (error) {
    throw new CliError(`The ${what} ${file} failed: ${describe(error)}`, EXIT.failed)
  }
}

function parseArguments({ args, json }: Orders): unknown[] {
  return args.map((arg, place) => {
    if (!json.includes(place)) return arg
    try {
      return JSON.parse(arg)
    } catch (error) {
      throw new CliError(`Argument ${place + 1} is no JSON: ${describe(error)}`, EXIT.usage)
    }
  })
}

async function callTarget(target: Target, args: unknown[], orders: Orders): Promise<void> {
  const callable = target.bind()
  const callOnce = async () => {
    const result = await callable(...args)
    if (orders.print) console.log(toJson(result, orders))
  }
  if (orders.interval === undefined) return callOnce()
  const pauses = watchSignals()
  while (!pauses.isEnding()) {
    try {
      await callOnce()
    } catch (error) {
      if (!orders.keepGoing) throw error
      console.error(describe(error))
    }
    await pauses.take(orders.interval)
  }
  process.exit(EXIT.ok)
}

function toJson(result: unknown, orders: Orders): string {
  try {
    return JSON.stringify(result) ?? 'null'
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(`What ${nameOf(orders)} returns cannot be written as JSON: ${reason}`, { cause: error })
  }
}
