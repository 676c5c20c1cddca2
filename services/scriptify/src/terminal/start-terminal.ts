import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { chooseTerminalRuntime, type RuntimeName } from '../classes/choose-runtime.ts'
import { CliError } from '../cli/cli-error.ts'
import { EXIT } from '../cli/exit-codes.ts'
import { loadTerminal } from '../run/registry.ts'
import { openUntilSignal } from './end-signals.ts'
import { findProjectPreload, getPreload } from './preload.ts'
import type { Notices, Opening, PromptModeOptions } from './prompt-mode.ts'
import type { SessionSetup } from './worker/supervised-worker.ts'

export interface TerminalOptions {
  service: string | undefined
  runtime: RuntimeName | undefined
  rootdir: string
  /** A file, false for none, undefined for the project's own if it has one. */
  preload: string | false | undefined
  env: string[]
  execute: string | undefined
  keepGoing: boolean
  /** Prints the value of a script's last statement; --execute always does. */
  print: boolean
  fork: boolean
  history: boolean
  /** Rolls back what the preload's executor writes. */
  sandbox: boolean
  /** Lets the preload's qq() write in production. */
  write: boolean
}

/** Runs a terminal until it ends; resolves with the exit code. */
export async function startTerminal(options: TerminalOptions): Promise<number> {
  const rootdir = getFolder(options.rootdir)
  const environment = await readEnvironment(options)
  const setup = await prepareSession(
    rootdir,
    { ...process.env, ...environment, ...permissions(options) },
    options,
  )
  if (options.execute !== undefined) {
    const { describeForeignText } = await import('./charset.ts')
    const refusal = describeForeignText(options.execute, process.env)
    if (refusal !== undefined) throw new CliError(refusal, EXIT.usage)
    return runAsScript(options.execute, { ...setup, stdin: 'inherit' }, { ...options, print: true })
  }
  if (!process.stdin.isTTY || !process.stdout.isTTY) {
    return runAsScript(await readScript(), { ...setup, stdin: 'ignore' }, options)
  }
  return runAtPrompt({ ...setup, stdin: 'inherit' }, { environment, keepsHistory: options.history })
}

/** Most terminals load no variables, and so no reader of them. */
async function readEnvironment({ service, env }: TerminalOptions): Promise<Record<string, string>> {
  if (service === undefined && env.length === 0) return {}
  const { readTerminalEnvironment } = await import('./terminal-environment.ts')
  return readTerminalEnvironment(service, env)
}

async function readScript(): Promise<string> {
  const [{ decodeScript }, { buffer }] = await Promise.all([
    import('./charset.ts'),
    import('node:stream/consumers'),
  ])
  return decodeScript(await buffer(process.stdin))
}

async function prepareSession(
  rootdir: string,
  env: NodeJS.ProcessEnv,
  { preload: requested, runtime, fork, sandbox }: TerminalOptions,
): Promise<Omit<SessionSetup, 'stdin'>> {
  const preload = typeof requested === 'string' ? getPreload(rootdir, requested) : undefined
  const name = chooseTerminalRuntime(rootdir, { runtime, preload })
  const findBackend = await loadTerminal(name)
  const backend = await findBackend({ rootdir, env, fork })
  const ownPreload = requested === undefined ? findProjectPreload(rootdir, backend) : undefined
  return { backend, rootdir, env, preload: preload ?? ownPreload, sandbox }
}

/** How the preload learns of the options; one that the caller's environment has does not count. */
const permissions = ({ sandbox, write }: TerminalOptions): NodeJS.ProcessEnv => ({
  SCRIPTIFY_SANDBOX: sandbox ? '1' : '',
  SCRIPTIFY_WRITE: write ? '1' : '',
})

function getFolder(path: string): string {
  const absolute = resolve(path)
  if (statSync(absolute, { throwIfNoEntry: false })?.isDirectory()) return absolute
  throw new CliError(`The root directory ${absolute} does not exist`, EXIT.notFound)
}

async function runAtPrompt(
  setup: SessionSetup,
  options: Pick<PromptModeOptions, 'environment' | 'keepsHistory'>,
): Promise<number> {
  const notices = { notify: (text: string) => void process.stderr.write(`${text}\n`) }
  const opening = startsSilently(setup) ? undefined : await openEarly(setup, notices)
  // Loads while the worker starts.
  const { runPromptMode } = await import('./prompt-mode.ts')
  return runPromptMode(setup, { ...options, opening, notices })
}

/** Whether the worker's start can print nothing, so that the prompt need not wait: it runs none of the project's code. */
const startsSilently = ({ backend, preload, sandbox }: SessionSetup): boolean =>
  backend.startsSilently && backend.autoloader === undefined && preload === undefined && !sandbox

/** Opens a session; resolves as soon as its worker has been started. */
async function openEarly(setup: SessionSetup, notices: Notices): Promise<Opening> {
  const { openSession } = await import('./session.ts')
  const session = openUntilSignal(async (signal) =>
    openSession({ ...setup, isScript: false, notify: (text) => notices.notify(text), signal }),
  )
  // A caller that awaits it learns of the failure.
  session.catch(() => {})
  return { session }
}

async function runAsScript(
  script: string,
  setup: SessionSetup,
  { keepGoing, print }: TerminalOptions,
): Promise<number> {
  const { runScriptMode } = await import('./script-mode.ts')
  return runScriptMode(script, setup, { keepGoing, printsValue: print })
}
