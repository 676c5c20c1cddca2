import { resolve } from 'node:path'
import { chooseTerminalRuntime, type RuntimeName } from '../../classes/choose-runtime.ts'
import { findProject } from '../../classes/find-project.ts'
import type { CliContext } from '../../io/cli-context.ts'
import { CliError, EXIT } from '../../io/cli-error.ts'
import { replaceProcess } from '../../io/replace-process.ts'
import { requireEnterableFolder } from '../../io/require-path.ts'
import { nodeBackend } from '../node/backend.ts'
import { phpBackend } from '../php/backend.ts'
import type { SessionSetup } from '../worker/supervisor.ts'
import type { BackendOptions, TerminalBackend } from './backend.ts'
import { describeInvalidText } from './charset.ts'
import { findPreload, getPreload } from './preload.ts'
import { runPromptMode } from './prompt-mode.ts'
import { runScript } from './script.ts'
import { readTerminalEnvironment } from './terminal-environment.ts'

const BACKENDS: Record<RuntimeName, (options: BackendOptions) => TerminalBackend | Promise<TerminalBackend>> =
  {
    php: phpBackend,
    node: nodeBackend,
  }

/** The options of `scriptify terminal`, as commander reads them. */
export interface TerminalOptions {
  runtime?: RuntimeName
  /** A file, or false for none; without it the project's own, if it has one. */
  preload?: string | false
  env?: string[]
  /** Default: that of the project which the current folder is in. */
  rootdir?: string
  execute?: string
  /** Prints the value of a script's last statement; --execute always does. */
  print?: boolean
  history: boolean
}

/** Runs a terminal until it ends; resolves with the exit code. */
export async function startTerminal(
  service: string | undefined,
  options: TerminalOptions,
  { env: ownEnv, stdin, stdout, replace = replaceProcess }: CliContext,
): Promise<number> {
  const environment = await readTerminalEnvironment(service, options.env ?? [])
  const setup = await prepareSession(options, { ownEnv, environment })
  const { execute: script, print = false, history: keepsHistory } = options
  if (script !== undefined) {
    const refusal = describeInvalidText(script)
    if (refusal !== undefined) throw new CliError(refusal, EXIT.usage)
    return runScript(script, setup, { prints: true, replace })
  }
  if (!stdin.isTTY || !stdout.isTTY) return runScript(undefined, setup, { prints: print, replace })
  return runPromptMode(setup, { ownEnv, environment, keepsHistory })
}

async function prepareSession(
  { rootdir: given, preload: requested, runtime }: TerminalOptions,
  { ownEnv, environment }: { ownEnv: NodeJS.ProcessEnv; environment: Record<string, string> },
): Promise<SessionSetup> {
  const cwd = getFolder(given ?? process.cwd())
  const rootdir = given === undefined ? findProject(cwd) : cwd
  const env = { ...ownEnv, ...environment }
  const preload = typeof requested === 'string' ? getPreload(rootdir, requested) : undefined
  const name = chooseTerminalRuntime(rootdir, { runtime, preload })
  const backend = await openBackend(name, { rootdir, env: { ...env, PATH: ownEnv.PATH } })
  const ownPreload = requested === undefined ? findPreload(rootdir, backend) : undefined
  return { backend, rootdir, cwd, env, preload: preload ?? ownPreload }
}

/** The backend of a language, or of php; a machine without it may have been meant to run the other. */
async function openBackend(name: RuntimeName | undefined, options: BackendOptions): Promise<TerminalBackend> {
  try {
    return await BACKENDS[name ?? 'php'](options)
  } catch (error) {
    if (name !== undefined || !(error instanceof CliError)) throw error
    throw new CliError(`${error.message}, or choose --runtime node`, error.exitCode)
  }
}

function getFolder(path: string): string {
  const absolute = resolve(path)
  requireEnterableFolder(absolute, 'The root directory')
  return absolute
}
