import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'
import pretty from 'pino-pretty'

/** What a service sends to its launcher once it is ready. */
interface ReadyMessage {
  ready: true
  address?: string
}

export interface ServiceProcess {
  name: string
  /** Resolves with the service's message once it is ready; rejects when it ends before. */
  ready: Promise<ReadyMessage>
  /** The exit code, or the signal's name. */
  exited: Promise<string>
  /** Ends the process: by SIGTERM, and by SIGKILL when it is still there after its time. */
  stop(): Promise<void>
}

export interface ServiceProcessOptions {
  nodeOptions?: readonly string[]
  /** How long the service may take to stop, in milliseconds. Default 20,000. */
  stopTimeoutMs?: number
}

/** How log lines are shown: one line each. Fields that only a program needs are left out. */
const LINE = {
  singleLine: true,
  translateTime: 'SYS:HH:MM:ss',
  messageFormat: '{service}: {msg}',
  ignore: 'service,reqId,pid,hostname',
  // A launcher that exits has written everything.
  sync: true,
}

/** Runs a service as `startService` does until the launcher stops; the launcher stops when the service ends by itself. */
export async function openService(
  lifecycle: Lifecycle,
  ...[name, ...rest]: Parameters<typeof startService>
): Promise<ServiceProcess> {
  let isStopping = false
  const service = await lifecycle.open(
    () => startService(name, ...rest),
    (service) => {
      isStopping = true
      return service.stop()
    },
  )
  void service.exited.then((code) => {
    const reason = `${name} ended with ${code}; its own message is above. Everything is stopped.`
    if (!isStopping) lifecycle.fail(new Error(reason))
  })
  return service
}

/**
 * Runs a TypeScript file in its own process, and shows its log in readable lines. The IPC channel ends it with this
 * process, however that ends.
 */
export function startService(
  name: string,
  file: string,
  environment: NodeJS.ProcessEnv,
  { nodeOptions = [], stopTimeoutMs = 20_000 }: ServiceProcessOptions = {},
): ServiceProcess {
  const child = spawn(process.execPath, [...nodeOptions, file], {
    env: environment,
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
    // Ctrl-C reaches only this process, which then stops its services one after the other.
    detached: true,
  })
  child.stdout?.pipe(pretty(LINE))
  const exited = once(child, 'exit').then(([code, signal]) => String(code ?? signal))
  const ready = waitUntilReady(child)
  ready.catch(() => undefined) // Not awaited when a stop comes first.
  return {
    name,
    exited,
    ready,
    async stop() {
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
      await exited
      clearTimeout(timer)
    },
  }
}

function waitUntilReady(child: ChildProcess): Promise<ReadyMessage> {
  return new Promise((resolve, reject) => {
    child.on('message', (message) => {
      if (isReady(message)) resolve(message)
    })
    child.once('error', reject)
    child.once('exit', (code, signal) =>
      reject(new Error(`ended with ${code ?? signal} before it was ready`)),
    )
  })
}

const isReady = (message: unknown): message is ReadyMessage =>
  typeof message === 'object' && message !== null && 'ready' in message && message.ready === true
