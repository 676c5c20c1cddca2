import { fileURLToPath } from 'node:url'
import { readMemoryLimit } from '../memory-limit.ts'
import type { TerminalRuntime } from '../terminal-backend.ts'
import { findPhp } from './find-php.ts'

const WORKER = fileURLToPath(new URL('terminal-worker.php', import.meta.url))
/** Endless recursion without a limit takes gigabytes in seconds; with this one it ends in a tenth of a second. */
const MEMORY_LIMIT = '256M'

/** The php runtime of the terminal; throws exit code 5 if there is no php, or only an old one. */
export async function phpTerminal(
  env: NodeJS.ProcessEnv,
  { fork }: { fork: boolean },
): Promise<TerminalRuntime> {
  const php = await findPhp(env)
  const settings = [
    `memory_limit=${readMemoryLimit(env)?.text ?? MEMORY_LIMIT}`,
    'display_errors=stderr',
    'log_errors=0',
    'html_errors=0',
    'error_reporting=32767',
  ]
  return {
    name: 'php',
    title: `PHP ${php.version}`,
    preload: 'templates/scriptify/scriptify.php',
    autoloader: 'vendor/autoload.php',
    worker: {
      file: php.path,
      args: [...settings.flatMap((setting) => ['-d', setting]), WORKER, ...(fork ? [] : ['--no-fork'])],
      hasInterruptPipe: false,
    },
  }
}
