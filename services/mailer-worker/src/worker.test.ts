import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { parseConfig } from './config.ts'
import { BUILT_IN_SENDERS } from './senders/built-in-senders.ts'
import { buildWorker } from './worker.ts'

/** Counts who connects, and says nothing to them. */
async function openSilentServer() {
  let connections = 0
  const server = createServer((socket) => {
    connections++
    socket.on('error', () => undefined)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    [Symbol.asyncDispose]: async () => void server.close(),
  }
}

async function aWorker(queueUrl: string, settings: Record<string, string> = {}) {
  const config = parseConfig({
    APP_ENV: 'test',
    DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x',
    QUEUE_URL: queueUrl,
    MAIL_URL: 'null:',
    MAIL_FROM: 'no-reply@example.com',
    MAIL_SECRET: randomBytes(32).toString('base64'),
    HOST: '127.0.0.1',
    METRICS_PORT: '0',
    ...settings,
  })
  const logger = createLogger('mailer-worker', 'fatal')
  const readInstallation = async () => 'test'
  return buildWorker(config, {
    db: await openDatabase(config.database.url),
    queue: openMailQueue(queueUrl, { readInstallation }),
    readInstallation,
    sender: BUILT_IN_SENDERS.null('null:', { concurrency: 1 }),
    envelope: () => ({ from: '', to: '', subject: '', html: '', text: '' }),
    logger,
    registry: new Registry(),
  })
}

it('asks the queue for mail only once it is started', async () => {
  await using queueServer = await openSilentServer()
  const worker = await aWorker(`redis://127.0.0.1:${queueServer.port}`)
  const origin = await worker.server.listen({ host: '127.0.0.1', port: 0 })
  expect((await fetch(`${origin}/health/live`)).status).toBe(200)
  expect(queueServer.connections()).toBe(0)
  worker.start()
  await expect.poll(() => queueServer.connections()).toBeGreaterThan(0)
  await worker.stop(0)
  await worker.server.close()
})

it('stops when it was never started', async () => {
  const worker = await aWorker('redis://127.0.0.1:1')
  await worker.stop(1_000)
  expect(worker.readiness.isDraining()).toBe(true)
})

it.each([
  { environment: 'prod', token: '', status: 404 },
  { environment: 'staging', token: '', status: 404 },
  { environment: 'prod', token: 'a-token-of-enough-characters', status: 401 },
  { environment: 'dev', token: 'a-token-of-enough-characters', status: 401 },
  { environment: 'dev', token: '', status: 200 },
])(
  'answers $status for /queue in $environment with the token "$token"',
  async ({ environment, token, status }) => {
    const { server } = await aWorker('redis://127.0.0.1:1', { APP_ENV: environment, BOARD_TOKEN: token })
    expect((await server.inject('/queue')).statusCode).toBe(status)
    expect((await server.inject('/health/live')).statusCode).toBe(200)
    await server.close()
  },
)
