import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Lifecycle } from '@latchkey/shared/lifecycle/run-service.ts'

/** The message that a service sends to its launcher once it is ready. */
export interface ReadyMessage {
  ready: true
  address?: string
  /** The address at which the inbox accepts mail. */
  mailUrl?: string
}

/** One line for each entry of a log, without the fields that only a program needs. */
const PRINTER = [
  fileURLToPath(import.meta.resolve('pino-pretty/bin.js')),
  '--singleLine',
  '--translateTime=SYS:HH:MM:ss',
  '--messageFormat={service}: {msg}',
  '--ignore=service,reqId,pid,hostname',
]

export interface ServiceProcess {
  name: string
  /** The options and the file of Node. */
  args: readonly string[]
  environment: NodeJS.ProcessEnv
  /** The time that it may take to stop after SIGTERM before it is killed. */
  stopTimeoutMs: number
}

/**
 * Runs a service in its own process, and shows its log in readable lines. The IPC channel ends it with this process,
 * however that ends. `ready` resolves with the message that the service sends once it is ready, and rejects when it ends
 * before; when it ends later, this process ends with it.
 */
export async function openService(
  lifecycle: Lifecycle,
  { name, args, environment, stopTimeoutMs }: ServiceProcess,
): Promise<{ ready: Promise<ReadyMessage> }> {
  let isStopping = false
  // Its own process, which outlives a launcher that is killed: pino never ends while its output is a broken pipe.
  const printer = spawn(process.execPath, PRINTER, {
    // It needs no secret.
    env: { PATH: environment.PATH, TERM: environment.TERM, NO_COLOR: environment.NO_COLOR },
    stdio: ['pipe', 'inherit', 'inherit'],
    detached: true,
  })
  const printed = once(printer, 'exit')
  const child = await lifecycle.open(
    () =>
      spawn(process.execPath, args, {
        env: environment,
        stdio: ['ignore', printer.stdin, 'inherit', 'ipc'],
        // Ctrl-C reaches only this process, which then stops its services one after the other.
        detached: true,
      }),
    async (child) => {
      isStopping = true
      child.kill('SIGTERM')
      const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      clearTimeout(timer)
      await printed
    },
  )
  printer.stdin.destroy()
  const ready = Promise.withResolvers<ReadyMessage>()
  let fail = ready.reject
  child.on('message', (message) => {
    if (!isReady(message)) return
    fail = lifecycle.fail
    ready.resolve(message)
  })
  child.once('exit', (code, signal) => {
    const reason = `${name} ended with ${code ?? signal}; its own message is above. Everything is stopped.`
    if (!isStopping) fail(new Error(reason))
  })
  // Nothing may wait for it yet.
  ready.promise.catch(() => undefined)
  return { ready: ready.promise }
}

const isReady = (message: unknown): message is ReadyMessage =>
  typeof message === 'object' && message !== null && 'ready' in message && message.ready === true
