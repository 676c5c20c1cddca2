import { fileURLToPath } from 'node:url'
import { readMemoryLimit } from '../memory-limit.ts'
import type { TerminalRuntime } from '../terminal-backend.ts'

const WORKER = fileURLToPath(new URL('terminal-worker.ts', import.meta.url))
/** In megabytes. Without one, a runaway array takes all of the machine before it fails. */
const HEAP_LIMIT = 512

/** The node runtime of the terminal: the same Node that runs the front-end. */
export function nodeTerminal(env: NodeJS.ProcessEnv): TerminalRuntime {
  const limit = readMemoryLimit(env)
  const megabytes = limit === undefined ? HEAP_LIMIT : limit.megabytes
  return {
    name: 'node',
    title: `Node ${process.versions.node}`,
    preload: 'templates/scriptify/scriptify.ts',
    worker: {
      file: process.execPath,
      args: [
        '--disable-warning=ExperimentalWarning',
        // As for a method: a project without "type" in its package.json is not to hear of it.
        '--disable-warning=MODULE_TYPELESS_PACKAGE_JSON',
        '--experimental-import-meta-resolve',
        ...(megabytes === undefined ? [] : [`--max-old-space-size=${megabytes}`]),
        WORKER,
      ],
      hasInterruptPipe: true,
    },
  }
}
