/*
 * Measures whether response times reveal that an e-mail is known. Requests password resets of known and unknown e-mails
 * in random order, one at a time, each followed by a request that shows remaining work; with the mail server up, slow
 * (2 s per mail) and down. Prints medians, the share of pairs in which the known e-mail took longer (0.50 reveals
 * nothing), and the range of that share that chance alone explains (95 %).
 *
 *   npm run bench:reset [-- --requests 400]
 */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { SMTPServer } from 'smtp-server'
import { startService } from '../scripts/start/service-process.ts'
import { withPostgres } from './with-postgres.ts'

const ROOT = join(import.meta.dirname, '..')
const SLOW_MS = 2_000
const STATES = ['up', 'slow', 'down'] as const

const { values } = parseArgs({ options: { requests: { type: 'string', default: '400' } } })
/** The number of each kind in each state. */
const requests = Number(values.requests)

await withPostgres(run)

async function run(databaseUrl: string): Promise<void> {
  const emails = await prepare(databaseUrl)
  const mail = await openMailServer()
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    APP_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'error',
    API_SERVER: 'http://bench',
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    DATABASE_URL: databaseUrl,
    QUEUE_URL: databaseUrl,
    MAIL_URL: `smtp://127.0.0.1:${mail.port}`,
    RATE_LIMIT_REQUESTS: '0',
    RATE_LIMIT_RESET: '0',
  }
  const worker = startService('mailer-worker', join(ROOT, 'services/mailer-worker/src/main.ts'), environment)
  const api = startService('auth-api', join(ROOT, 'services/auth-api/src/main.ts'), environment)
  try {
    await worker.ready
    const { address = '' } = await api.ready
    await measure(address, emails, 50) // Warm the code before anything is measured.
    console.log(
      `${cpus().length} cores, Node ${process.version}, ${requests} requests of each kind in each state, one at a time`,
    )
    const rows = []
    for (const state of STATES) {
      await mail.become(state)
      rows.push(...describe(state, await measure(address, emails, requests)))
    }
    console.table(rows)
  } finally {
    await Promise.all([api.stop(), worker.stop()])
    await mail.become('down')
  }
}

interface Emails {
  known: string[]
  /** The same number, so that both kinds repeat equally often and close equally many older resets. */
  unknown: string[]
}

async function prepare(databaseUrl: string): Promise<Emails> {
  const db = await openDatabase(databaseUrl)
  await createMigrator(db).up()
  await prepareQueue(databaseUrl)
  const users = createUserRepository(db)
  const known = Array.from({ length: 200 }, () => anEmail())
  for (const email of known)
    await users.insert({
      name: 'Ada',
      email,
      username: email.slice(0, 16),
      passwordHash: 'x'.repeat(40),
      role: 'user',
    })
  await db.close()
  return { known, unknown: known.map(() => anEmail()) }
}

function anEmail(): string {
  return `${randomBytes(8).toString('hex')}@example.com`
}

async function openMailServer() {
  let delayMs = 0
  const listen = async (port: number) => {
    const made = new SMTPServer({
      disabledCommands: ['AUTH', 'STARTTLS'],
      closeTimeout: 1_000,
      onData(stream, _session, callback) {
        stream.resume()
        stream.on('end', () => setTimeout(callback, delayMs))
      },
    })
    made.on('error', () => undefined)
    made.listen(port, '127.0.0.1')
    await once(made.server, 'listening')
    return made
  }
  let server: SMTPServer | undefined = await listen(0)
  const { port } = server.server.address() as AddressInfo
  return {
    port,
    async become(state: (typeof STATES)[number]): Promise<void> {
      delayMs = state === 'slow' ? SLOW_MS : 0
      if (state === 'down') await new Promise<void>((resolve) => server?.close(resolve) ?? resolve())
      server = state === 'down' ? undefined : (server ?? (await listen(port)))
    },
  }
}

interface Sample {
  isKnown: boolean
  /** Milliseconds of the reset request, and of the request right after it. */
  reset: number
  after: number
}

async function measure(address: string, emails: Emails, count: number): Promise<Sample[]> {
  const order = Array.from({ length: 2 * count }, (_, index) => ({
    index,
    isKnown: index % 2 === 0,
    at: Math.random(),
  }))
  const samples: Sample[] = []
  for (const { index, isKnown } of order.sort((a, b) => a.at - b.at)) {
    const pool = isKnown ? emails.known : emails.unknown
    const email = pool[Math.floor(index / 2) % pool.length]
    const begun = performance.now()
    const response = await fetch(`${address}/login/resetrequest`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email }),
    })
    await response.text()
    const answered = performance.now()
    if (response.status !== 200) throw new Error(`resetrequest was answered ${response.status}`)
    await (await fetch(`${address}/health/live`)).text()
    samples.push({ isKnown, reset: answered - begun, after: performance.now() - answered })
  }
  return samples
}

function describe(state: string, samples: readonly Sample[]) {
  const chance = 1.96 * Math.sqrt((samples.length + 1) / (12 * (samples.length / 2) ** 2))
  return (['reset', 'after'] as const).map((what) => {
    const known = samples.filter(({ isKnown }) => isKnown).map((sample) => sample[what])
    const unknown = samples.filter(({ isKnown }) => !isKnown).map((sample) => sample[what])
    return {
      'mail server': state,
      what: what === 'reset' ? 'resetrequest' : 'the request after it',
      'known p50 ms': Number(median(known).toFixed(2)),
      'unknown p50 ms': Number(median(unknown).toFixed(2)),
      'known takes longer': Number(shareAbove(known, unknown).toFixed(3)),
      'chance alone': `${(0.5 - chance).toFixed(3)} to ${(0.5 + chance).toFixed(3)}`,
    }
  })
}

function median(list: readonly number[]): number {
  return [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)] ?? Number.NaN
}

/** The share of pairs in which the first is above the second (Mann and Whitney's U over the number of pairs). */
function shareAbove(first: readonly number[], second: readonly number[]): number {
  let above = 0
  for (const one of first) for (const other of second) above += one > other ? 1 : one === other ? 0.5 : 0
  return above / (first.length * second.length)
}
