import { RUNTIME_NAMES } from '../../classes/choose-runtime.ts'
import type { TerminalOptions } from '../../terminal/start-terminal.ts'
import type { OptionRow, OptionValues } from './plain-line.ts'

/** The options of `scriptify terminal`, in the order of its help. */
export const TERMINAL_OPTIONS: readonly OptionRow[] = [
  { flags: '--runtime <name>', description: 'language (default: the project’s)', choices: RUNTIME_NAMES },
  {
    flags: '-p, --preload <file>',
    description: 'run this file first (default: templates/scriptify/scriptify.{php,ts})',
  },
  { flags: '--no-preload', description: 'run no file first' },
  {
    flags: '-e, --env <NAME=VALUE>',
    description: 'set an environment variable; repeatable',
    isRepeatable: true,
  },
  { flags: '-r, --rootdir <dir>', description: 'the project’s folder (default: this folder)' },
  { flags: '-x, --execute <code>', description: 'evaluate this code, print its value, and exit' },
  { flags: '--keep-going', description: 'in a script, continue after a failed statement' },
  { flags: '--print', description: 'in a script, print the value of the last statement' },
  {
    flags: '--no-fork',
    description: 'keep no sleeping copy of the php process (for gRPC, Xdebug, threads)',
  },
  { flags: '--no-history', description: 'neither read nor write the history file' },
  {
    flags: '--sandbox',
    description: 'roll back at the end what the preload’s executor writes',
    conflicts: 'write',
  },
  { flags: '--write', description: 'with APP_ENV=prod: let qq() write without asking' },
]

/** What a terminal is started with, by the options of its command line. */
export function toTerminalOptions(service: string | undefined, values: OptionValues): TerminalOptions {
  const { preload, rootdir, execute, env } = values
  return {
    service,
    runtime: RUNTIME_NAMES.find((name) => name === values.runtime),
    // commander sets true for an option that has a --no- form and was not given.
    preload: typeof preload === 'string' || preload === false ? preload : undefined,
    rootdir: typeof rootdir === 'string' ? rootdir : process.cwd(),
    execute: typeof execute === 'string' ? execute : undefined,
    env: Array.isArray(env) ? env : [],
    keepGoing: values.keepGoing === true,
    print: values.print === true,
    fork: values.fork !== false,
    history: values.history !== false,
    sandbox: values.sandbox === true,
    write: values.write === true,
  }
}
