/*
 * Measures how a flood of logins affects other requests: the latency of GET /sampleprotected/ping over 16 connections,
 * alone and while 16 others log in, with one token and with a new token for each request. Latchkey and a hand-written
 * peer run one after the other.
 *
 *   npm run bench:ping [-- --seconds 6 --rounds 3]
 */
import { randomBytes } from 'node:crypto'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { prepareQueue } from '@latchkey/shared/mail-queue/queue-backend.ts'
import { DEMO_PASSWORD } from '@latchkey/shared/users/demo-users.ts'
import autocannon from 'autocannon'
import { SignJWT } from 'jose'
import { seedDemoUsers } from '../scripts/start/add-demo-users.ts'
import { type ServiceProcess, startService } from '../scripts/start/service-process.ts'
import { withPostgres } from './with-postgres.ts'

const CONNECTIONS = 16
const ROOT = join(import.meta.dirname, '..')
const HOSTS = {
  latchkey: join(ROOT, 'services/auth-api/src/main.ts'),
  'fastify + @fastify/jwt': join(ROOT, 'bench/peers/fastify-jwt.ts'),
}

const { values } = parseArgs({
  options: { seconds: { type: 'string', default: '6' }, rounds: { type: 'string', default: '3' } },
})
const seconds = Number(values.seconds)
const rounds = Number(values.rounds)

await withPostgres(run)

async function run(databaseUrl: string): Promise<void> {
  const userid = await prepare(databaseUrl)
  const secret = randomBytes(64)
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    APP_ENV: 'test',
    PORT: '0',
    METRICS_PORT: '0',
    LOG_LEVEL: 'warn',
    API_SERVER: 'http://bench',
    JWT_SECRET: secret.toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    DATABASE_URL: databaseUrl,
    QUEUE_URL: databaseUrl,
    RATE_LIMIT_LOGIN: '0',
    // Counted as in production, but never reached.
    RATE_LIMIT_REQUESTS: '1000000000',
    RATE_LIMIT_RESET: '0',
  }
  console.log(
    `${cpus().length} cores, Node ${process.version}, ${CONNECTIONS} + ${CONNECTIONS} connections, ${rounds} rounds of ${seconds} s, medians`,
  )
  const samples: Sample[] = []
  for (let round = 0; round < rounds; round++) {
    for (const [host, file] of Object.entries(HOSTS)) {
      const service = startService(host, file, environment)
      try {
        samples.push(...(await measure(host, service, () => signTokens(secret, userid))))
      } finally {
        await service.stop()
      }
    }
  }
  report(samples)
}

async function prepare(databaseUrl: string): Promise<string> {
  const db = await openDatabase(databaseUrl)
  await createMigrator(db).up()
  await prepareQueue(databaseUrl)
  await seedDemoUsers(db, 'argon2id')
  const [user] = await db.query<{ userid: string }>({
    name: 'bench-user',
    text: "select userid from users where username = 'user'",
  })
  await db.close()
  return user?.userid ?? ''
}

interface Sample {
  host: string
  what: string
  p50: number
  p99: number
  perSecond: number
}

async function measure(
  host: string,
  service: ServiceProcess,
  sign: () => Promise<string[]>,
): Promise<Sample[]> {
  const { address = '' } = await service.ready
  const samples: Sample[] = []
  const record = (what: string, { latencies, perSecond }: Load) =>
    void samples.push({
      host,
      what,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
      perSecond,
    })
  const [remembered = ''] = await sign()

  await ping(address, [remembered], 1) // Warm the code before anything is measured.
  record('ping, remembered token', await ping(address, [remembered]))
  record('ping, tokens never seen', await ping(address, await sign()))
  const flooded = await Promise.all([flood(address), ping(address, [remembered])])
  record('logins meanwhile', flooded[0])
  record('ping, remembered token, logins flood', flooded[1])
  const floodedAnew = await Promise.all([flood(address), ping(address, await sign())])
  record('ping, tokens never seen, logins flood', floodedAnew[1])
  return samples
}

/** Latencies in milliseconds with fractions, which autocannon's own summary lacks. */
interface Load {
  latencies: number[]
  perSecond: number
}

/** Each request takes the next of `tokens`. */
async function ping(address: string, tokens: string[], duration = seconds): Promise<Load> {
  let next = 0
  return load({
    url: `${address}/sampleprotected/ping`,
    duration,
    // Busy, but not saturated: under saturation the latency would be that of the queue.
    overallRate: 2000,
    requests: [
      {
        method: 'GET',
        setupRequest: (request) => {
          const token = tokens[next++ % tokens.length]
          return { ...request, headers: { authorization: `Bearer ${token}` } }
        },
      },
    ],
  })
}

function flood(address: string): Promise<Load> {
  return load({
    url: `${address}/login`,
    method: 'POST',
    duration: seconds,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ username: 'user@example.com', password: DEMO_PASSWORD }),
  })
}

function load(options: autocannon.Options): Promise<Load> {
  const latencies: number[] = []
  return new Promise((resolve, reject) => {
    const instance = autocannon(
      { connections: CONNECTIONS, ...options },
      (error, { non2xx, errors, requests }) => {
        if (error) return reject(error)
        if (non2xx > 0 || errors > 0)
          return reject(new Error(`${non2xx} requests were refused, ${errors} failed`))
        resolve({ latencies, perSecond: requests.average })
      },
    )
    instance.on('response', (_client, _status, _bytes, milliseconds) => void latencies.push(milliseconds))
  })
}

/** Signs a different token for each request of a phase. */
function signTokens(secret: Uint8Array, userid: string): Promise<string[]> {
  const now = Math.floor(Date.now() / 1000)
  const claims = { data: { userid, name: 'User', role: 'user' } }
  return Promise.all(
    Array.from({ length: 2100 * seconds }, () =>
      new SignJWT(claims)
        .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
        .setIssuer('http://bench')
        .setSubject(userid)
        .setIssuedAt(now)
        .setNotBefore(now)
        .setExpirationTime(now + 3600)
        .setJti(crypto.randomUUID())
        .sign(secret),
    ),
  )
}

function quantile(list: readonly number[], q: number): number {
  const sorted = [...list].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

function report(samples: readonly Sample[]): void {
  const rows = new Map<string, Sample[]>()
  for (const sample of samples) {
    const key = `${sample.host} | ${sample.what}`
    rows.set(key, [...(rows.get(key) ?? []), sample])
  }
  const table = [...rows].map(([key, list]) => {
    const [host, what] = key.split(' | ')
    const median = (read: (sample: Sample) => number) => Number(quantile(list.map(read), 0.5).toFixed(2))
    return {
      host,
      what,
      'p50 ms': median(({ p50 }) => p50),
      'p99 ms': median(({ p99 }) => p99),
      'per s': median(({ perSecond }) => perSecond),
    }
  })
  console.table(table)
}
