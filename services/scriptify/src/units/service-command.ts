import { resolve } from 'node:path'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { runCheck } from '../methods/check-method.ts'
import { resolveCall } from '../methods/resolve-call.ts'
import { methodRuntimes } from '../runtimes/registry.ts'
import type { CommandWords, MethodCall, MethodRuntime } from '../runtimes/runtime.ts'
import type { Account } from './account.ts'
import { isSystemdText } from './grammar/systemd.ts'
import type { InstallRequest } from './install-request.ts'
import { mounted, type OtherSystem, seenFrom, wordsFor, writtenPaths } from './other-system.ts'
import { checkPath } from './parse-service.ts'
import { SYSTEM_PATH } from './service.ts'

interface CallContext {
  readonly interval: number | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly account: Account | undefined
  readonly env: NodeJS.ProcessEnv
}

/**
 * The words that the service runs, and its working directory, after a look at the method; paths are those of the system
 * that will run them. Throws exit code 2 for words that no service could start with, and whatever the check finds.
 */
export async function findServiceCommand(
  request: InstallRequest,
  { interval, environment, account, env }: CallContext,
): Promise<{ command: CommandWords; rootdir: string }> {
  const { root, args, runtime: language, allowOutside, program } = request
  const other: OtherSystem | undefined =
    root === '/'
      ? undefined
      : { root, home: request.home ?? resolve(import.meta.dirname, '../../../..'), program }
  const written = writtenPaths(request)
  const callEnv = { ...env, ...environment }
  const call = await resolveCall(
    request.class,
    {
      ...(other ? mounted(written, other) : { rootdir: request.rootdir, bootstrap: request.bootstrap }),
      args,
      runtime: language,
      allowOutside,
      ...(interval === undefined ? {} : { daemon: { interval } }),
    },
    callEnv,
  )
  const runtime = methodRuntimes[call.reference.runtime]
  if (request.check) await check(call, runtime, { environment, account, env: callEnv })
  const final = other ? seenFrom(call, written, other) : call
  const words = await runtime.command(final, callEnv)
  const command = other ? wordsFor(words, call.reference.runtime, other) : words
  checkWords(request, final.rootdir, command)
  return { command, rootdir: final.rootdir }
}

/** Throws exit code 2 for words that the service could not start with. */
function checkWords(
  { template, hardening, privateTmp }: InstallRequest,
  rootdir: string,
  command: CommandWords,
): void {
  checkPath('--rootdir', rootdir)
  checkPath('The program', command[0])
  if (template !== 'systemd') return
  if (command[0].includes('$')) {
    throw new CliError(`systemd reads no program's path with $ in it: ${command[0]}`, EXIT.usage)
  }
  if (!command.every(isSystemdText)) {
    throw new CliError(
      'systemd takes no path and no --arg that holds what Unicode keeps for no character, like U+FFFF',
      EXIT.usage,
    )
  }
  // What comes after -- is the method's own.
  const paths = [rootdir, ...command.slice(0, command.indexOf('--'))]
  const hidden = hardening && privateTmp && paths.find((path) => /^\/(var\/)?tmp(\/|$)/.test(path))
  if (hidden) {
    throw new CliError(
      `A service with a /tmp of its own does not see ${hidden}: --no-private-tmp`,
      EXIT.usage,
    )
  }
}

/** Loads somebody's code, so with the service's rights and what the service will see, not with root's. */
async function check(
  call: MethodCall,
  runtime: MethodRuntime,
  { environment, account, env }: Pick<CallContext, 'environment' | 'account' | 'env'>,
): Promise<void> {
  const own = Object.entries(env).filter(([name]) => name.startsWith('SCRIPTIFY_'))
  const words = await runtime.checkCommand(call, env)
  try {
    await runCheck(words, {
      rootdir: call.rootdir,
      env: { PATH: SYSTEM_PATH, ...Object.fromEntries(own), ...environment },
      ...(account && process.geteuid?.() === 0 ? { user: account } : {}),
    })
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EACCES')) throw error
    throw new CliError(`The user may not execute ${words[0]}`, EXIT.notPermitted)
  }
}
