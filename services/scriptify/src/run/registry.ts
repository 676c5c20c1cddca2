import type { RuntimeName } from '../classes/choose-runtime.ts'
import type { TerminalBackend, TerminalOptions } from '../terminal/terminal-backend.ts'
import type { Runtime } from './runtime.ts'

const RUNTIMES: Record<RuntimeName, () => Promise<Runtime>> = {
  php: async () => (await import('./php/php-runtime.ts')).phpRuntime,
  node: async () => (await import('./node/node-runtime.ts')).nodeRuntime,
}

/** A runtime by its name. */
export const loadRuntime = (name: RuntimeName): Promise<Runtime> => RUNTIMES[name]()

type FindBackend = (options: TerminalOptions) => TerminalBackend | Promise<TerminalBackend>

const TERMINALS: Record<RuntimeName, () => Promise<FindBackend>> = {
  php: async () => (await import('../terminal/php/terminal-backend.ts')).terminalBackend,
  node: async () => (await import('../terminal/node/terminal-backend.ts')).terminalBackend,
}

/** Finds what the terminal of a runtime starts; what it gives throws a CliError (5) if the language is missing or too old. */
export const loadTerminal = (name: RuntimeName): Promise<FindBackend> => TERMINALS[name]()
