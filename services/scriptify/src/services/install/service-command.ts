import { realpathSync } from 'node:fs'
import { basename, join } from 'node:path'
import { CliError, EXIT, errorCode } from '../../io/cli-error.ts'
import type { CommandWords } from '../../io/replace-process.ts'
import type { MethodCall } from '../../run/method-call.ts'
import { loadRuntime, resolveCall } from '../../run/resolve-call.ts'
import { runCheckCommand } from '../../run/run-check-command.ts'
import type { Runtime } from '../../run/runtime.ts'
import { SETTINGS } from '../../scriptify-settings.ts'
import { SYSTEM_PATH } from '../paths.ts'
import type { Account } from './account.ts'
import type { InstallOptions } from './install-options.ts'
import { mounted, seenFrom, wordsFor, writtenPaths } from './mounted-host.ts'
import { requirePath } from './parse-service.ts'

interface CallContext {
  /** Seconds between two calls; undefined for a single call. */
  readonly interval: number | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly account: Account | undefined
  readonly env: NodeJS.ProcessEnv
}

interface ServiceCommand {
  readonly command: CommandWords
  readonly rootdir: string
  /** The words that may be paths of files that it needs: the others are options of its program. */
  readonly possiblePaths: readonly string[]
}

/**
 * The command that the service runs and its working directory, as the host that runs it sees their paths. Checks the
 * method first. Throws exit code 2 for a path that no service could start with, or what the check throws.
 */
export async function findServiceCommand(
  options: InstallOptions,
  context: CallContext,
): Promise<ServiceCommand> {
  const env = { ...context.env, ...options.settings, ...context.environment, PATH: context.env.PATH }
  const root = options.root === '/' ? undefined : options.root
  const call = await resolveServiceCall(options, root, { interval: context.interval, env })
  const { method, text } = call.reference
  if (method === '') {
    throw new CliError(`${text} names no method; scriptify run '${text}' lists them`, EXIT.usage)
  }
  const runtime = await loadRuntime(call.reference.runtime)
  await checkMethod(call, runtime, { ...context, env })
  const found = await commandOn(root, { options, call, runtime, env })
  requirePath('--rootdir', found.rootdir)
  requirePath('The program', found.command[0])
  return found
}

function resolveServiceCall(
  options: InstallOptions,
  root: string | undefined,
  { interval, env }: Pick<CallContext, 'interval' | 'env'>,
): Promise<MethodCall> {
  const { class: reference = '', rootdir, bootstrap, args = [], runtime } = options
  const call = {
    ...(root === undefined ? { rootdir, bootstrap } : mounted(writtenPaths(options), root)),
    args,
    runtime,
    ...(interval === undefined ? {} : { daemon: { interval } }),
  }
  return resolveCall(reference, call, env)
}

interface FoundCall {
  readonly options: InstallOptions
  readonly call: MethodCall
  readonly runtime: Runtime
  readonly env: NodeJS.ProcessEnv
}

async function commandOn(
  root: string | undefined,
  { options, call, runtime, env }: FoundCall,
): Promise<ServiceCommand> {
  // Nobody watches a service: its log has to say where it failed.
  const traced = { ...call, trace: true }
  const seen = root === undefined ? traced : seenFrom(traced, writtenPaths(options), root)
  const words = await runtime.command(seen, env, 'call')
  const command =
    root === undefined ? withKeptName(words, env) : wordsFor(words, call.reference.runtime, root)
  const { rootdir, bootstrap, reference, args } = seen
  // The options of the call are the last word before its arguments.
  const possiblePaths = [...command.slice(0, -1 - args.length), bootstrap, reference.module]
  return { rootdir, command, possiblePaths: possiblePaths.filter((path) => path !== undefined) }
}

/** A program that the user has named stays that one. */
const withKeptName = ([program, ...args]: CommandWords, env: NodeJS.ProcessEnv): CommandWords =>
  env[SETTINGS.phpBinary.name] === program
    ? [program, ...args]
    : [findKeptName(program, SYSTEM_PATH.split(':')), ...args]

/**
 * The name of a program that the distribution keeps when it upgrades that, such as /usr/bin/php for /usr/bin/php8.4; the
 * program itself where no folder has such a link.
 */
export function findKeptName(program: string, folders: readonly string[]): string {
  const name = basename(program).replace(/[\d.]+$/, '')
  const names = folders.map((folder) => join(folder, name))
  return names.find((path) => realPathOf(path) === realPathOf(program)) ?? program
}

/** The path without links; undefined where nothing is. */
function realPathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}

/** Loads the project's code, so it runs with the rights and the environment of the service instead of root's. */
async function checkMethod(
  call: MethodCall,
  runtime: Runtime,
  { environment, account, env }: Omit<CallContext, 'interval'>,
): Promise<void> {
  const own = Object.entries(env).filter(([name]) => name.startsWith('SCRIPTIFY_'))
  const words = await runtime.command(call, env, 'check')
  try {
    await runCheckCommand(words, {
      rootdir: call.rootdir,
      env: { PATH: SYSTEM_PATH, ...Object.fromEntries(own), ...environment },
      ...(account && process.geteuid?.() === 0 ? { user: account } : {}),
    })
  } catch (error) {
    if (errorCode(error) !== 'EACCES') throw error
    throw new CliError(`The user may not execute ${words[0]}`, EXIT.notPermitted)
  }
}
