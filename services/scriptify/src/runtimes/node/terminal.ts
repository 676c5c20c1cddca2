import { fileURLToPath } from 'node:url'
import type { TerminalRuntime } from '../../terminal/terminal-runtime.ts'

const WORKER = fileURLToPath(new URL('terminal-worker.ts', import.meta.url))
/** In megabytes. Without one, a runaway array takes all of the machine before it fails. */
const HEAP_LIMIT = 512

/** The node runtime of the terminal: the same Node that runs the front-end. */
export function nodeTerminal(env: NodeJS.ProcessEnv): TerminalRuntime {
  return {
    name: 'node',
    title: `Node ${process.versions.node}`,
    preload: 'templates/scriptify/scriptify.ts',
    worker: {
      file: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        '--experimental-import-meta-resolve',
        `--max-old-space-size=${megabytes(env.SCRIPTIFY_MEMORY_LIMIT) ?? HEAP_LIMIT}`,
        WORKER,
      ],
      hasInterruptPipe: true,
    },
  }
}

/** Reads php's notation, which the setting has for both runtimes: 256M, 1G, bytes. */
function megabytes(limit: string | undefined): number | undefined {
  const [, digits, unit = ''] = /^(\d+)([KMG]?)$/i.exec(limit ?? '') ?? []
  if (digits === undefined) return undefined
  const factor = { '': 1 / 1024 ** 2, K: 1 / 1024, M: 1, G: 1024 }[unit.toUpperCase()] ?? 1
  return Math.max(32, Math.round(Number(digits) * factor))
}
