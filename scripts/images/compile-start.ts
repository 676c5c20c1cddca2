/*
 * Starts a service without its database and stops it as soon as it waits for it, so that NODE_COMPILE_CACHE contains
 * what a start compiles. With --predictable V8 compiles to the same bytes each time.
 *
 *   node scripts/images/compile-start.ts services/<service>/src/main.ts
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

const TIMEOUT_MS = 60_000
const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, index) => index)).toString('base64')

/** Complete and valid; nothing answers at these addresses, and the image keeps none of it. */
const SETTINGS = {
  APP_ENV: 'prod',
  API_SERVER: 'https://login.example.com',
  JWT_SECRET: bytes(64),
  MAIL_SECRET: bytes(32),
  DATABASE_URL: 'postgres://latchkey@127.0.0.1:1/latchkey',
  QUEUE_URL: 'redis://127.0.0.1:1',
  MAIL_URL: 'null:',
  MAIL_FROM: 'no-reply@example.com',
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  SHUTDOWN_DELAY: '0',
}

const service = spawn(process.execPath, ['--predictable', ...process.argv.slice(2)], {
  env: { ...process.env, ...SETTINGS },
  stdio: ['ignore', 'pipe', 'inherit'],
  timeout: TIMEOUT_MS,
})
const exited = once(service, 'exit')

const lines: string[] = []
for await (const line of createInterface(service.stdout)) {
  lines.push(line)
  if (line.includes('not ready, waiting')) service.kill('SIGTERM')
}
const [code] = await exited
// What a team has added may need settings that a build does not have. Its image starts all the same, with less in its cache.
if (code !== 0)
  console.error(
    `${lines.join('\n')}\nThe service ended with ${code}: the compile cache of the image may lack modules`,
  )
