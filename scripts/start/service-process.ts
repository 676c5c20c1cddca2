import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'

/** What a service tells its launcher once it can be used. */
interface ReadyMessage {
  ready: true
  address?: string
}

export interface ServiceProcess {
  name: string
  /** Resolves with what the service says of itself; rejects when it ends instead. */
  ready: Promise<ReadyMessage>
  /** The exit code, or the signal's name. */
  exited: Promise<string>
  stop(): Promise<void>
}

/** Runs a TypeScript file as a service of its own, which ends when this process does, however that ends. */
export function startService(name: string, file: string, environment: NodeJS.ProcessEnv): ServiceProcess {
  const child = spawn(process.execPath, [file], {
    env: environment,
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // Ctrl-C reaches this process alone, which then stops its services in order.
    detached: true,
  })
  const exited = once(child, 'exit').then(([code, signal]) => String(code ?? signal))
  const ready = waitUntilReady(child)
  ready.catch(() => undefined) // Whoever awaits it hears of it; nobody may, when a stop comes first.
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
