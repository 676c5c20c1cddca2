import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { findFreePort } from './free-port.ts'
import { waitFor } from './wait-for.ts'

const MAIN = join(import.meta.dirname, '../services/mailer-worker/src/main.ts')

export interface WorkerProcess {
  process: ChildProcess
  /** The address of its health and metrics. */
  url: string
  /** The log so far. */
  log(): string
  ready(): Promise<void>
  get(path: string): Promise<Response>
  metric(name: string): Promise<number>
  kill(signal: NodeJS.Signals): Promise<number | null>
  [Symbol.asyncDispose](): Promise<void>
}

export interface WorkerProcessOptions {
  /** The file that is run. Default: the one of production. */
  main?: string
}

/** Starts mailer-worker as `npm start` does: as a separate process, which stops when this one has gone. */
export async function startWorkerProcess(
  settings: Record<string, string>,
  { main = MAIN }: WorkerProcessOptions = {},
): Promise<WorkerProcess> {
  const port = await findFreePort()
  const child = spawn(process.execPath, [main], {
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      APP_ENV: 'test',
      METRICS_PORT: String(port),
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  let log = ''
  let refusal = ''
  child.stdout?.on('data', (chunk: Buffer) => {
    log += chunk
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    log += chunk
  })
  const url = `http://127.0.0.1:${port}`
  const get = (path: string) => fetch(`${url}${path}`)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null

  const worker: WorkerProcess = {
    process: child,
    url,
    log: () => log,
    get,
    ready: () =>
      waitFor(
        async () => {
          if (hasEnded()) throw new Error(`The worker ended: ${log}`)
          return get('/health/ready').then(
            (answer) => answer.ok,
            (error: Error) => {
              refusal = inspect(error)
              return false
            },
          )
        },
        { lastSeen: () => `${refusal}\nThe log of the worker at ${url}:\n${log}` },
      ),
    async metric(name) {
      const text = await (await get('/metrics')).text()
      const line = text.split('\n').find((each) => each.startsWith(`${name} `))
      return Number(line?.slice(name.length + 1))
    },
    async kill(signal) {
      if (!hasEnded()) {
        child.kill(signal)
        await once(child, 'exit')
      }
      return child.exitCode
    },
    async [Symbol.asyncDispose]() {
      await worker.kill('SIGKILL')
    },
  }
  return worker
}
