import './require-node.cjs'
import { once } from 'node:events'
import { errorMessage } from '../errors/app-error.ts'
import { ExtensionError } from '../extensions/find-extensions.ts'
import { EXIT_CONFIGURATION, SettingsError } from '../settings/settings-error.ts'
import { ListenError } from './listen-error.ts'

// close-with-grace does not fit: a second signal ends its drain with exit code 1, and it knows no part that is half open.

export interface StopOptions {
  logger: {
    info(details: object, message: string): void
    error(message: string): void
    fatal(details: object, message: string): void
  }
  /** The time that closing all parts may take, in milliseconds; the process then exits with 1. */
  timeoutMs: number
  /** Logged when it takes longer. */
  timeoutMessage: string
}

export interface Lifecycle {
  /**
   * Opens the next part of the service; `close` runs at the stop, after the `close` of every later part. Throws when a
   * stop was requested: nothing more is opened, and a part that was being opened is closed with the others.
   */
  open<Part>(openPart: () => Part | Promise<Part>, close: (part: Part) => unknown): Promise<Part>
  /** Sets how a stop is logged and how long it may take. Until then it is not logged and may take 10 s. */
  configureStop(options: StopOptions): void
  /** Ends the service as a failure of a part does: logs the error, closes everything and exits with 1. */
  fail(error: Error): void
}

const DEFAULT_TIMEOUT_MS = 10_000

/** The module that opens a service. */
export interface ServiceModule {
  openService(lifecycle: Lifecycle, environment: NodeJS.ProcessEnv): Promise<void>
}

/**
 * Runs a service: loads its module, opens it, waits for a signal, closes in reverse order what was opened, and exits. A
 * signal counts at any moment, also while modules are loaded or a part is being opened; later signals change nothing.
 * Exits with 0 after a signal, with 78 and one message where settings or an extension cannot be used, and with 1 after a
 * failure of a part or one that nothing catches.
 */
export async function runService(
  environment: NodeJS.ProcessEnv,
  load: () => Promise<ServiceModule>,
): Promise<void> {
  const stop = new AbortController()
  const opened = new AsyncDisposableStack()
  let options: StopOptions | undefined

  const fail = (error: unknown) => {
    const isRefusal = error instanceof SettingsError || error instanceof ExtensionError
    process.exitCode = isRefusal ? EXIT_CONFIGURATION : 1
    if (isRefusal) process.stderr.write(`${error.message}\n`)
    else if (options)
      options.logger.fatal(error instanceof ListenError ? {} : { err: error }, errorMessage(error))
    else console.error(error)
    stop.abort(error)
  }
  stop.signal.addEventListener('abort', () => limitStop(stop.signal.reason, options))
  onStopRequest((reason) => stop.abort(reason))
  process.on('uncaughtException', fail)

  const configureStop = (given: StopOptions) => {
    options = given
  }
  const lifecycle = createLifecycle(opened, stop.signal, { configureStop, fail })
  try {
    const { openService } = await load()
    await openService(lifecycle, environment)
  } catch (error) {
    // A start that a stop interrupted has not failed.
    if (!stop.signal.aborted) fail(error)
  }
  if (!stop.signal.aborted) await once(stop.signal, 'abort')
  await opened.disposeAsync().catch(fail)
  options?.logger.info({}, 'stopped')
  process.exit()
}

function createLifecycle(
  opened: AsyncDisposableStack,
  stopSignal: AbortSignal,
  rest: Pick<Lifecycle, 'configureStop' | 'fail'>,
): Lifecycle {
  return {
    async open(openPart, close) {
      stopSignal.throwIfAborted()
      const part = await openPart()
      opened.defer(async () => void (await close(part)))
      stopSignal.throwIfAborted()
      return part
    },
    ...rest,
  }
}

function limitStop(reason: unknown, options: StopOptions | undefined): void {
  if (typeof reason === 'string') options?.logger.info({ reason }, 'stopping')
  const timer = setTimeout(() => {
    options?.logger.error(options.timeoutMessage)
    process.exit(1)
  }, options?.timeoutMs ?? DEFAULT_TIMEOUT_MS)
  timer.unref()
}

/**
 * Reports each request to stop by its reason: `SIGTERM`, `SIGINT`, `SIGHUP` of a closed terminal, or `disconnect` when the
 * process that spawned this one over IPC is gone, as `npm start` may be.
 */
function onStopRequest(stop: (reason: string) => void): void {
  // It is not `once`: without a listener a second signal ends the process in the middle of its stop.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) process.on(signal, () => stop(signal))
  process.on('disconnect', () => stop('disconnect'))
  // The parent process may be gone already. Without IPC `connected` is undefined.
  if (process.connected === false) stop('disconnect')
}
