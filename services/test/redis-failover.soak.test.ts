import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '@latchkey/shared/database/database.ts'
import { PASSWORD } from '@latchkey/test-support/a-user.ts'
import { addressOf, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import type { Mailbox } from '@latchkey/test-support/mailbox.ts'
import { type RedisServers, startRedisServers } from '@latchkey/test-support/redis-servers.ts'
import { repeat } from '@latchkey/test-support/repeat.ts'
import { startServices } from '@latchkey/test-support/running-services.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { serviceUrl } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'

/** The number of mails that are accepted at least; by hand, MAILS=5000 REQUESTS_PER_SECOND=50. */
const MAILS = Number(process.env.MAILS ?? 500)
const REQUESTS_PER_SECOND = Number(process.env.REQUESTS_PER_SECOND ?? 20)
/** The number of times that each fault happens. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
/** The load between two faults, in which a server that comes back becomes a replica. */
const AFTER_FAULT_MS = 4_000
const FAILED_LOGINS = 5
const REPLICAS = 2

describe.skipIf(!hasDocker()).each([
  { image: 'redis:8', topology: 'Sentinel' },
  { image: 'valkey/valkey:9', topology: 'Cluster' },
  ...(process.env.EVERY_IMAGE === '1'
    ? ([
        { image: 'valkey/valkey:9', topology: 'Sentinel' },
        { image: 'redis:8', topology: 'Cluster' },
      ] as const)
    : []),
] as const)('while the servers of a $topology of $image fail over', ({ image, topology }) => {
  it(`${MAILS} accepted mails arrive, and limits neither open nor close`, async () => {
    await using redis = await startRedisServers(image, topology)
    const both = {
      QUEUE_URL: redis.url,
      JWT_SECRET: randomBytes(64).toString('base64'),
      MAIL_SECRET: randomBytes(32).toString('base64'),
      LOG_LEVEL: 'info',
    }
    const limits = { RATE_LIMIT_LOGIN: String(FAILED_LOGINS), TRUST_PROXY: 'loopback' }
    await using flow = await startServices('PostgreSQL only', { both, api: limits })
    await using second = startAuthApiProcess({
      ...both,
      ...limits,
      DATABASE_URL: serviceUrl({ url: flow.servers.databaseUrl }, 'auth-api'),
      RATE_LIMIT_RESET: '100000',
    })
    await using _worker = await flow.startWorker()
    const origins = [flow.origin, await addressOf(second)]
    const post = createPost(origins)
    await addUsers(flow.store.db)

    const victim = await flow.newUser()
    const owner = await flow.newUser()
    const guesses = repeat(250, () =>
      post('/login', { username: victim.email, password: 'wrong' }, '203.0.113.1'),
    )
    const logins = repeat(500, () =>
      post('/login', { username: owner.email, password: PASSWORD }, '203.0.113.2'),
    )
    const accepted: string[] = []
    const refused: number[] = []
    let longestMs = 0
    const requests = repeat(1_000 / REQUESTS_PER_SECOND, async (index) => {
      const email = `ada${index}@example.com`
      const sentAt = Date.now()
      const status = await post('/login/resetrequest', { email }, '203.0.113.3')
      longestMs = Math.max(longestMs, Date.now() - sentAt)
      if (status === 200) accepted.push(email)
      else refused.push(status)
      return status
    })

    const startedAt = Date.now()
    for (let round = 0; round < ROUNDS; round++) await strikeEach(redis)
    await expect.poll(() => accepted.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(MAILS)
    const [guessed, loggedIn] = [await guesses.stop(), await logins.stop()]
    await requests.stop()

    const lost = () => accepted.filter((email) => flow.mailbox.to(email).length === 0)
    await expect.poll(lost, { timeout: 120_000 }).toEqual([])
    expect(repeatsUnderAnotherId(flow.mailbox)).toEqual([])
    const twice = accepted.filter((email) => flow.mailbox.to(email).length > 1)
    const count = (statuses: readonly number[], status: number) =>
      statuses.filter((each) => each === status).length
    const windows = Math.ceil((Date.now() - startedAt) / 60_000) + 1
    process.stdout.write(
      `${topology} of ${image}: ${accepted.length} mails accepted, ${refused.length} requests refused (${[...new Set(refused)]}), the longest took ${longestMs} ms, 0 lost, ${twice.length} came twice; ` +
        `${count(guessed, 401)} of ${guessed.length} guesses were tried; ${count(loggedIn, 200)} of ${loggedIn.length} logins succeeded; ` +
        `${count(guessed, 503)} guesses and ${count(loggedIn, 503)} logins were answered with 503\n`,
    )
    // A database that waits for its disk makes each of them 503; a mail is never accepted and lost.
    expect(others(refused, [503])).toEqual([])
    // Replicas that cannot count together count by themselves.
    expect(count(guessed, 401)).toBeLessThanOrEqual(FAILED_LOGINS * REPLICAS * windows)
    expect(others(guessed, [401, 429, 503])).toEqual([])
    expect(others(loggedIn, [200, 503])).toEqual([])
  })
})

const others = (statuses: readonly number[], expected: readonly number[]): number[] =>
  statuses.filter((status) => !expected.includes(status))

const addUsers = (db: Database): Promise<number> =>
  db.execute({
    name: 'test-add-users',
    text: `insert into users (name, email, username, password, role)
      select 'Ada', 'ada' || n || '@example.com', 'ada' || n, 'x', 'user' from generate_series(1, 20000) n`,
  })

function repeatsUnderAnotherId({ mails }: Mailbox): string[] {
  const idsOf = Map.groupBy(mails, ({ to }) => to?.[0]?.address)
  return [...idsOf.values()]
    .map((same) => new Set(same.map(({ messageId }) => messageId)))
    .filter((ids) => ids.size > 1)
    .flatMap((ids) => [...ids].map(String))
}

/** Kills the primary and starts it again, replaces it while it is up, and lets it hang until it has been replaced. */
async function strikeEach(redis: RedisServers): Promise<void> {
  const replaced = async (strike: (port: number) => Promise<unknown>) => {
    const old = await redis.primary()
    await strike(old)
    await expect.poll(() => redis.primary(), { timeout: 60_000 }).not.toBe(old)
    await wait(AFTER_FAULT_MS)
    return old
  }
  await wait(AFTER_FAULT_MS)
  const killed = await replaced((port) => redis.signal(port, 'KILL'))
  await redis.start(killed)
  await wait(AFTER_FAULT_MS)
  await replaced(() => redis.switchOver())
  const hung = await replaced((port) => redis.signal(port, 'STOP'))
  await redis.signal(hung, 'CONT')
  await wait(AFTER_FAULT_MS)
}

/** Sends requests to each address in turn; resolves with the status. */
function createPost(origins: readonly string[]) {
  let turn = 0
  return async (path: string, body: object, from: string): Promise<number> => {
    const response = await fetch(`${origins[turn++ % origins.length]}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-forwarded-for': from },
      body: JSON.stringify(body),
    })
    await response.text()
    return response.status
  }
}
