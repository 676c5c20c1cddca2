import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

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
  stop(): Promise<void>
}

/** Runs a TypeScript file in its own process. The IPC channel ends it with this process, however that ends. */
export function startService(
  name: string,
  file: string,
  environment: NodeJS.ProcessEnv,
  nodeOptions: readonly string[] = [],
): ServiceProcess {
  const child = spawn(process.execPath, [...nodeOptions, file], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Ctrl-C reaches only this process, which then stops its services one after the other.
    detached: true,
  })
  const exited = once(child, 'exit').then(([code, signal]) => String(code ?? signal))
  const ready = waitUntilReady(child)
  ready.catch(() => undefined) // Not awaited when a stop comes first.
  return {
    name,
    exited,
    ready,
    async stop() {
      child.kill('SIGTERM')
      await exited
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
