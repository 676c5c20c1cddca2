import { fileURLToPath } from 'node:url'
import { findAutoloader } from '../../classes/php/find-autoloader.ts'
import { askPhp, findPhp } from '../../classes/php/find-php.ts'
import { iniOptions, readMemoryLimit } from '../../classes/start-options.ts'
import type { BackendOptions, TerminalBackend } from '../front/backend.ts'

const WORKER = fileURLToPath(new URL('terminal-worker.php', import.meta.url))
const RUN_SCRIPT = fileURLToPath(new URL('run-script.php', import.meta.url))
/** Endless recursion takes gigabytes in seconds without a limit; with this one it fails in a tenth of a second. */
const DEFAULT_MEMORY_LIMIT = '256M'

/** Evaluates in an installed php; throws a CliError (5) if there is none. */
export async function phpBackend({ rootdir, env }: BackendOptions): Promise<TerminalBackend> {
  const file = await findPhp(env)
  const limit = readMemoryLimit(env)?.text
  const settings = [`memory_limit=${limit ?? DEFAULT_MEMORY_LIMIT}`, 'error_reporting=32767']
  return {
    name: 'php',
    language: 'PHP',
    preload: 'templates/scriptify/scriptify.php',
    autoloader: findAutoloader(rootdir, env),
    worker: {
      file,
      args: [...iniOptions(settings), WORKER],
      hasInterruptPipe: false,
    },
    scriptCommand: async () => [
      await askPhp(env),
      ...iniOptions(limit ? [`memory_limit=${limit}`] : []),
      RUN_SCRIPT,
    ],
    async describeCrash() {
      await askPhp(env)
    },
  }
}
