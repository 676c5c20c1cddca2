import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'

const MAIN = join(import.meta.dirname, '../services/auth-api/src/main.ts')

export interface Service extends AsyncDisposable {
  process: ChildProcess
  output: () => string
  exited: Promise<number | null>
}

/** auth-api as it runs in production: its own process, settings from the environment. */
export function startAuthApiProcess(
  settings: Record<string, string>,
  nodeOptions: readonly string[] = [],
  main: string = MAIN,
): Service {
  const child = spawn(process.execPath, [...nodeOptions, main], {
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    env: { ...serviceEnvironment(), ...settings },
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      output += chunk
    })
  }
  const exited = once(child, 'exit').then(([code]) => code as number | null)
  return {
    process: child,
    output: () => output,
    exited,
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

/** The settings of every service process, without its database and queue. */
export const serviceEnvironment = () => ({
  PATH: process.env.PATH,
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
  // No start of this checkout writes secrets for it.
  APP_ENV: 'staging',
  PASSWORD_HASH: 'argon2id',
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  SHUTDOWN_DELAY: '0',
  API_SERVER: 'https://login.example.com',
  JWT_SECRET: randomBytes(64).toString('base64'),
  MAIL_SECRET: randomBytes(32).toString('base64'),
  MAIL_URL: 'null:',
  MAIL_FROM: 'no-reply@example.com',
})

/** Waits until the service is ready; resolves with its address. */
export async function addressOf(service: Service): Promise<string> {
  const [message] = await Promise.race([
    once(service.process, 'message'),
    service.exited.then((code) => Promise.reject(new Error(`exited with ${code}: ${service.output()}`))),
  ])
  return (message as { address: string }).address
}
