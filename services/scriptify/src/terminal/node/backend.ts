import { extname, join } from 'node:path'
import { findBootloader } from '../../classes/bootloader.ts'
import { COMPILE_CACHE, QUIET, readMemoryLimit } from '../../classes/start-options.ts'
import type { BackendOptions, TerminalBackend } from '../front/backend.ts'

const WORKER = join(import.meta.dirname, `worker${extname(import.meta.filename)}`)
const RUN_SCRIPT = join(import.meta.dirname, `run-script${extname(import.meta.filename)}`)
/** Heap of the worker: without a limit, a growing array takes all of the machine's memory before it fails. */
const DEFAULT_HEAP_MEGABYTES = 512

/** Evaluates in the same Node that runs the terminal. */
export function nodeBackend({ rootdir, env }: BackendOptions): TerminalBackend {
  const limit = readMemoryLimit(env)
  const heapOf = (megabytes: number | undefined) =>
    megabytes === undefined ? [] : [`--max-old-space-size=${megabytes}`]
  return {
    name: 'node',
    language: 'Node',
    preload: 'templates/scriptify/scriptify.ts',
    autoloader: findBootloader(rootdir, env, 'node'),
    worker: {
      file: process.execPath,
      args: [
        ...QUIET,
        ...COMPILE_CACHE,
        '--experimental-import-meta-resolve',
        // Node would abort when Ctrl-C terminates a callback, such as a timer's, for what the callback left undone.
        '--no-force-async-hooks-checks',
        ...heapOf(limit === undefined ? DEFAULT_HEAP_MEGABYTES : limit.megabytes),
        WORKER,
      ],
      hasInterruptPipe: true,
    },
    scriptCommand: () => [
      process.execPath,
      ...QUIET,
      ...COMPILE_CACHE,
      ...heapOf(limit?.megabytes),
      RUN_SCRIPT,
    ],
  }
}
