import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { styleText } from 'node:util'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'
import { chooseRuntime } from '../runtimes/choose-runtime.ts'
import { nodeTerminal } from '../runtimes/node/terminal-backend.ts'
import { phpTerminal } from '../runtimes/php/terminal-backend.ts'
import type { TerminalRuntime } from '../runtimes/terminal-backend.ts'
import { historyPath, openHistory } from './history.ts'
import type { Opened, Session, SessionOptions } from './session.ts'
import { readTerminalEnvironment } from './terminal-environment.ts'

export interface TerminalOptions {
  service: string | undefined
  runtime: 'php' | 'node' | undefined
  rootdir: string
  /** A file, false for none at all, undefined for the project's own if it has one. */
  preload: string | false | undefined
  env: string[]
  execute: string | undefined
  keepGoing: boolean
  fork: boolean
  history: boolean
}

/** Exit codes by the signals that end a terminal. */
const SIGNALS = { SIGHUP: 129, SIGTERM: 143 }
/** At a prompt Ctrl-C has a use of its own. */
const SIGNALS_WITHOUT_PROMPT = { ...SIGNALS, SIGINT: 130 }

/** Runs a terminal until it ends; resolves with the exit code. */
export async function startTerminal(options: TerminalOptions): Promise<number> {
  const rootdir = resolve(options.rootdir)
  if (!existsSync(rootdir) || !statSync(rootdir).isDirectory()) {
    throw new CliError(`The root directory ${rootdir} does not exist`, EXIT.notFound)
  }
  const environment = await readTerminalEnvironment(options.service, options.env)
  const env = { ...process.env, ...environment }
  const preload = findPreload(rootdir, options.preload)
  const kind = chooseRuntime(rootdir, { runtime: options.runtime, preload })
  // These load while php is asked for its version.
  const loading = Promise.all([import('./session.ts'), import('./interactive.ts')])
  const runtime = kind === 'php' ? await phpTerminal(env, { fork: options.fork }) : nodeTerminal(env)
  await loading
  const files = {
    autoloader: findAutoloader(rootdir, runtime, env),
    preload: preload ?? ownPreload(rootdir, runtime, options),
  }
  const setup = { runtime, cwd: rootdir, env, ...files }

  if (options.execute !== undefined)
    return runAsScript(options.execute, { ...setup, stdin: 'inherit' }, options)
  if (!process.stdin.isTTY || !process.stdout.isTTY)
    return runAsScript(await text(process.stdin), { ...setup, stdin: 'ignore' }, options)
  return runInteractively({ ...setup, stdin: 'inherit' }, environment, options)
}

type Setup = Omit<SessionOptions, 'notify' | 'signal'>

async function runAsScript(script: string, setup: Setup, { keepGoing }: TerminalOptions): Promise<number> {
  const { runScript } = await import('./script-mode.ts')
  const notify = (line: string) => void process.stderr.write(`${line}\n`)
  const session = await openUnlessEnded(setup, notify)
  if (typeof session === 'number') return session
  const killed = endOnSignals(SIGNALS_WITHOUT_PROMPT)
  const unread = new Promise<never>((_resolve, reject) => process.stdout.on('error', reject))
  let code: number
  try {
    for (const note of session.opened.notes) notify(note)
    code = await Promise.race([runScript(session, script, { keepGoing }), killed, unread])
  } finally {
    await session.close()
  }
  // That the last value could not be written is known only now.
  return Promise.race([unread, code])
}

async function runInteractively(
  setup: Setup,
  environment: Record<string, string>,
  { history: keepsHistory }: TerminalOptions,
): Promise<number> {
  const { createPrompt } = await import('./interactive.ts')
  const { runtime, cwd } = setup
  const history = openHistory(keepsHistory ? historyPath(process.env, cwd, runtime.name) : undefined)
  const isProduction = /^prod(uction)?$/i.test(setup.env.APP_ENV ?? '')
  const prompt = createPrompt({ runtime: runtime.name, history, environment, isProduction })
  const session = await openUnlessEnded(setup, prompt.notify)
  if (typeof session === 'number') return session
  const killed = endOnSignals(SIGNALS, prompt.restore)
  process.on('exit', prompt.restore)
  process.stdout.write(`${banner(setup, session.opened, environment, isProduction)}\n`)
  try {
    const code = await Promise.race([prompt.run(session), killed])
    return code ?? EXIT.ok
  } finally {
    prompt.restore()
    await session.close()
  }
}

/** An autoloader or a preload may never return; a signal ends its process too, and gives the exit code. */
async function openUnlessEnded(setup: Setup, notify: SessionOptions['notify']): Promise<Session | number> {
  const { openSession } = await import('./session.ts')
  const ending = new AbortController()
  let code: number | undefined
  const stopListening = onSignals(SIGNALS_WITHOUT_PROMPT, (itsCode) => {
    code = itsCode
    ending.abort()
  })
  try {
    const session = await openSession({ ...setup, notify, signal: ending.signal })
    if (code === undefined) return session
    await session.close()
    return code
  } catch (error) {
    if (code === undefined) throw error
    return code
  } finally {
    stopListening()
  }
}

/** Resolves with the exit code when a signal wants the process to end. */
function endOnSignals(signals: Record<string, number>, stop = () => {}): Promise<number> {
  return new Promise((done) => {
    onSignals(signals, (code) => {
      stop()
      done(code)
    })
  })
}

/** Tells the exit code of each signal that comes, and of a second one too: it must not end us before the worker is gone. */
function onSignals(signals: Record<string, number>, tell: (code: number) => void): () => void {
  const listeners = Object.entries(signals).map(([signal, code]) => [signal, () => tell(code)] as const)
  for (const [signal, listener] of listeners) process.on(signal, listener)
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener)
  }
}

function banner(
  { runtime, cwd, autoloader, preload, env }: Setup,
  { notes, forks }: Opened,
  environment: Record<string, string>,
  isProduction: boolean,
): string {
  const loaded = Object.keys(environment).length
  const lines = [
    `Scriptify terminal, ${runtime.title}, in ${cwd}${env.APP_ENV ? `, APP_ENV=${env.APP_ENV}` : ''}`,
    ...(autoloader === undefined ? [] : [`Autoloader: ${autoloader}`]),
    preload === undefined ? `No preload (${runtime.preload} is not there)` : `Preload: ${preload}`,
    ...(loaded === 0 ? [] : [`Environment variables loaded: ${loaded}`]),
    ...(runtime.name === 'php' && !forks
      ? ['No copy by fork: after a crash, only plain variables come back']
      : []),
    ...notes,
    '.help tells what there is; exit or Ctrl-D leaves',
  ]
  if (!isProduction) return lines.join('\n')
  const warning = ` PRODUCTION: APP_ENV=${env.APP_ENV}. What you type here changes the real thing. `
  return [styleText(['bgRed', 'white', 'bold'], warning, { stream: process.stdout }), ...lines].join('\n')
}

/** A preload that was named must be there. */
function findPreload(rootdir: string, preload: string | false | undefined): string | undefined {
  if (typeof preload !== 'string') return undefined
  const path = resolve(rootdir, preload)
  const found = existsSync(path) ? path : resolve(preload)
  if (!existsSync(found)) throw new CliError(`The preload file ${path} does not exist`, EXIT.failed)
  return found
}

/** Only the project's own: a file from a folder above may be somebody else's. */
function ownPreload(rootdir: string, runtime: TerminalRuntime, options: TerminalOptions): string | undefined {
  const path = resolve(rootdir, runtime.preload)
  return options.preload !== false && existsSync(path) ? path : undefined
}

function findAutoloader(
  rootdir: string,
  runtime: TerminalRuntime,
  env: NodeJS.ProcessEnv,
): string | undefined {
  if (runtime.autoloader === undefined) return undefined
  const named = env.SCRIPTIFY_BOOTLOADER
  const path = resolve(rootdir, named || runtime.autoloader)
  if (existsSync(path)) return path
  if (named) throw new CliError(`SCRIPTIFY_BOOTLOADER names ${path}, which does not exist`, EXIT.notFound)
  return undefined
}
