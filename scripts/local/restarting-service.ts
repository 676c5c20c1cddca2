import { type FSWatcher, watch } from 'node:fs'
import { join } from 'node:path'
import { errorMessage } from '@latchkey/shared/error-message.ts'
import { type ServiceProcess, startService } from './service-process.ts'

/** An editor writes a file in several steps. */
const QUIET_MS = 100
/** What a service loads. A test or a package is none of it, and settings are read by the launcher. */
const LOADED = /\.(ts|json|sql|html|text|subject)$/
const NOT_LOADED = /(^|\/)(node_modules|test)\/|\.test\.ts$/

export interface Restarting {
  /** Absolute paths, watched with all that is below them. */
  folders: readonly string[]
  /** Runs between the stop and the start, for example to apply a new migration. */
  prepare?: (changed: ReadonlySet<string>) => Promise<unknown>
  say: (text: string) => void
}

/**
 * `startService` that starts the service anew whenever a file below `folders` changes. Once it was ready it never counts
 * as exited: a service that ends by a mistake waits for the next change.
 */
export function startRestarting(
  name: string,
  file: string,
  environment: NodeJS.ProcessEnv,
  { folders, prepare, say }: Restarting,
): ServiceProcess {
  const first = startService(name, file, environment)
  let current = first
  let isStopped = false
  // The launcher waits for the first one.
  let pending: Promise<void> = first.ready.then(
    () => undefined,
    () => undefined,
  )

  async function restart(changed: ReadonlySet<string>): Promise<void> {
    if (isStopped) return
    const startedAt = performance.now()
    say(`${[...changed].join(', ')} changed: ${name} starts anew`)
    await current.stop()
    await prepare?.(changed)
    if (isStopped) return
    current = startService(name, file, environment)
    current.ready.then(
      () => say(`${name} is ready after ${Math.round(performance.now() - startedAt)} ms`),
      (error) => isStopped || say(`${name} ${errorMessage(error)}; it starts again when a file changes`),
    )
  }

  const watcher = watchFolders(folders, (changed) => {
    pending = pending.then(() => restart(changed)).catch((error) => say(`${name}: ${errorMessage(error)}`))
  })
  return {
    name,
    ready: first.ready,
    exited: first.ready.then(
      () => new Promise<string>(() => undefined),
      () => first.exited,
    ),
    async stop() {
      isStopped = true
      watcher.close()
      await current.stop()
      await pending
      await current.stop()
    },
  }
}

/** Calls `onChange` with the files that changed, once no further one follows for a moment. */
function watchFolders(folders: readonly string[], onChange: (changed: ReadonlySet<string>) => void) {
  let changed = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  const note = (path: string) => {
    if (!LOADED.test(path) || NOT_LOADED.test(path)) return
    changed.add(path)
    clearTimeout(timer)
    timer = setTimeout(() => {
      onChange(changed)
      changed = new Set()
    }, QUIET_MS)
  }
  const watchers: FSWatcher[] = folders.map((folder) =>
    watch(folder, { recursive: true }, (_event, path) => path && note(join(folder, path))),
  )
  return {
    close() {
      clearTimeout(timer)
      for (const each of watchers) each.close()
    },
  }
}
