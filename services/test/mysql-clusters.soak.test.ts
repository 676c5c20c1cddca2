import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator, MIGRATION_LOCK } from '@latchkey/shared/database/migrations.ts'
import { withRowLock } from '@latchkey/shared/database/mysql/row-lock.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { addressOf, type Service, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import {
  CLUSTERS,
  type ClusterNode,
  type MysqlCluster,
  startCluster,
} from '@latchkey/test-support/mysql-clusters.ts'
import { migrate } from '@latchkey/test-support/servers/migrated-template.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { serviceUrl } from '@latchkey/test-support/test-database.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

/** The number of times that each fault happens. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const USERS = 10
/** Longer than any time limit. */
const GIVE_UP_MS = 30_000
/** A node that is silent for this long is left out by the others. */
const SILENCE_SECONDS = 3
/** The load between two faults. */
const UNDISTURBED_MS = 3_000
const CODE_ATTEMPTS = 5
/** A tenth of that of migrations. */
const PACE = { beatMs: 200, silenceMs: 2_000 }
const NAMES = readAllMigrations('mysql').map(({ name }) => name)

describe.skipIf(!hasDocker()).each(CLUSTERS)('two replicas on two nodes of %s', (kind) => {
  let cluster: MysqlCluster
  let nodes: [ClusterNode, ClusterNode, ClusterNode]
  let dbs: Database[]
  let replicas: Service[]
  let origins: string[]
  beforeAll(async () => {
    cluster = await startCluster(kind, SILENCE_SECONDS)
    nodes = [...cluster.nodes] as typeof nodes
    dbs = await Promise.all(nodes.map(({ url }) => openDatabase(url, { poolSize: 4 })))
  })
  afterAll(async () => {
    await Promise.all((replicas ?? []).map((replica) => replica[Symbol.asyncDispose]()))
    await Promise.all((dbs ?? []).map((db) => db.close()))
    await cluster?.[Symbol.asyncDispose]()
  })

  const post = async (replica: number, path: string, body: object, token = '', method = 'POST') => {
    const response = await fetch(`${origins[replica]}${path}`, {
      method,
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify(body),
    })
    return { status: response.status, body: (await response.json()) as { token?: string } }
  }
  const newUsers = (count: number) => {
    const users = createUserRepository(dbs[2] as Database)
    return Promise.all(Array.from({ length: count }, () => aUser({ users })))
  }
  const logIn = async (replica: number, username: string) =>
    (await post(replica, '/login', { username, password: PASSWORD })).body.token ?? ''

  /** The log lines about answers with 500, which are bugs. */
  const errors = () =>
    replicas.flatMap((replica) =>
      replica
        .output()
        .split('\n')
        .filter((line) => line.includes('"level":"error"')),
    )

  it('migrate once, when both begin at the same moment', async () => {
    const ran = await Promise.all(dbs.map((db) => createMigrator(db).up()))
    expect(ran.flat().sort()).toEqual(NAMES)
    const [first] = dbs
    await migrate({ db: first as Database, url: nodes[0].url })
    const settings = {
      JWT_SECRET: randomBytes(64).toString('base64'),
      QUEUE_URL: 'redis://127.0.0.1:1',
      TOKEN_LIFETIME: '600',
      REFRESH_WINDOW: '599',
      RATE_LIMIT_REQUESTS: '0',
      RATE_LIMIT_LOGIN: '0',
      RATE_LIMIT_RESET: '0',
      RESET_ATTEMPTS: String(CODE_ATTEMPTS),
    }
    replicas = nodes
      .slice(0, 2)
      .map(({ url }) => startAuthApiProcess({ ...settings, DATABASE_URL: serviceUrl({ url }, 'auth-api') }))
    origins = await Promise.all(replicas.map(addressOf))
  })

  it('take over the lock of a migration that has died on another node', async () => {
    await nodes[2].query(`insert into latchkey_lock (name, holder) values ('${MIGRATION_LOCK}', 'dead')`)
    expect(await withRowLock(dbs[0] as Database, MIGRATION_LOCK, async () => 'done', PACE)).toBe('done')
    expect(await nodes[1].query('select * from latchkey_lock')).toEqual([])
  })

  it('let nearly all of forty changes of one account succeed, and answer none with 500', async () => {
    const [user] = await newUsers(1)
    const token = await logIn(0, user?.email ?? '')
    const statuses = await Promise.all(
      Array.from({ length: 40 }, async (_, index) => {
        const { status } = await post(index % 2, '/profile', { name: `Ada ${index}` }, token, 'PUT')
        return status
      }),
    )
    console.log(`${kind}: ${statuses.filter((status) => status === 200).length} of 40 changes succeeded`)
    expect(
      statuses.filter((status) => ![200, 503].includes(status)),
      errors().join('\n'),
    ).toEqual([])
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(36)
  })

  it('count forty guesses at one code together', async () => {
    const [user] = await newUsers(1)
    const email = user?.email ?? ''
    const { body } = await post(0, '/login/resetrequest', { email })
    const guess = (index: number) =>
      post(index % 2, '/login/confirmcode', { email, code: String(100_000 + index), token: body.token })
    const answers = await Promise.all(Array.from({ length: 40 }, (_, index) => guess(index)))
    expect(answers.filter(({ status }) => ![422, 503].includes(status))).toEqual([])
    const [row] = await nodes[2].query(`select attempts from password_reset where email = '${email}'`)
    expect(row).toEqual({ attempts: CODE_ATTEMPTS })
  })

  it('end the session of a token that is used again after it was refreshed on both', async () => {
    const [user] = await newUsers(1)
    const token = await logIn(0, user?.email ?? '')
    await wait(1_100)
    const both = await Promise.all([0, 1].map((replica) => post(replica, '/refreshtoken', {}, token)))
    expect(both.map(({ status }) => status)).toEqual([200, 200])
    const [row] = await nodes[2].query('select count(*) as revoked from token_revocation')
    expect(row).toEqual({ revoked: 1 })
  })

  it('lose no acknowledged change when a node is killed, hangs and comes back', async () => {
    const users = await newUsers(USERS)
    const tokens = await Promise.all(users.map(({ email }) => logIn(1, email)))
    const acknowledged = new Map<string, number>()
    const statuses: number[] = []
    let isEnding = false
    /** Changes one user again and again, at the other replica where one answers 503. */
    async function keepChanging(userid: string, token: string): Promise<void> {
      for (let change = 1; !isEnding; change++) {
        for (const replica of [change % 2, (change + 1) % 2]) {
          const { status } = await post(replica, '/profile', { name: `Ada ${change}` }, token, 'PUT')
          statuses.push(status)
          if (status === 200) acknowledged.set(userid, change)
          if (status !== 503) break
        }
        await wait(100)
      }
    }
    const running = Promise.all(users.map(({ userid }, index) => keepChanging(userid, tokens[index] ?? '')))
    const [first, second] = nodes
    const leftOut = async () => {
      await waitFor(() => second.isOneOf(2))
      await wait(UNDISTURBED_MS)
    }
    try {
      for (let round = 0; round < ROUNDS; round++) {
        await wait(UNDISTURBED_MS)
        await first.kill()
        await leftOut()
        await first.start()
        await wait(UNDISTURBED_MS)
        await first.pause()
        await leftOut()
        await first.unpause()
        await wait(UNDISTURBED_MS)
      }
    } finally {
      isEnding = true
      await running
    }
    const counts = Map.groupBy(statuses, (status) => status)
    console.log(
      `${kind}: ${[...counts].map(([status, each]) => `${each.length} answered with ${status}`).join(', ')}`,
    )
    expect(
      statuses.filter((status) => ![200, 503].includes(status)),
      errors().join('\n'),
    ).toEqual([])
    expect(acknowledged.size).toBe(USERS)
    const kept = await nodes[2].query(
      "select lower(hex(userid)) as id, name from users where name like 'Ada %'",
    )
    const changeOf = new Map(kept.map(({ id, name }) => [String(id), Number(String(name).slice(4))]))
    const lost = [...acknowledged].filter(
      ([userid, change]) => (changeOf.get(userid.replaceAll('-', '')) ?? 0) < change,
    )
    expect(lost).toEqual([])
  })

  it('answer 503 while their cluster has no majority, and lose no acknowledged change', async () => {
    const users = await newUsers(USERS)
    const tokens = await Promise.all(users.map(({ email }) => logIn(0, email)))
    const acknowledged = new Map<string, number>()
    const answers: { status: number; hasRetryAfter: boolean; seconds: number }[] = []
    let isEnding = false
    async function keepRenaming(userid: string, token: string): Promise<void> {
      for (let change = 1; !isEnding; change++) {
        const begunAt = Date.now()
        const { status, headers, body } = await fetch(`${origins[change % 2]}/profile`, {
          method: 'PUT',
          headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
          body: JSON.stringify({ name: `Eve ${change}` }),
          signal: AbortSignal.timeout(GIVE_UP_MS),
        }).catch(() => Response.error())
        await body?.cancel()
        const seconds = Math.round((Date.now() - begunAt) / 1_000)
        answers.push({ status, hasRetryAfter: headers.has('retry-after'), seconds })
        if (status === 200) acknowledged.set(userid, change)
        await wait(100)
      }
    }
    const areReady = () =>
      Promise.all(origins.map(async (origin) => (await fetch(`${origin}/health/ready`)).status === 200))
    const running = users.map(({ userid }, index) => keepRenaming(userid, tokens[index] ?? ''))
    const [first, second, third] = nodes
    await wait(UNDISTURBED_MS)
    // One after the other: what two nodes have acknowledged, the one that survives has.
    await third.kill()
    await waitFor(() => first.isOneOf(2))
    await wait(UNDISTURBED_MS)
    await second.kill()
    await waitFor(async () => !(await first.isSynced()))
    await waitFor(async () => !(await areReady()).includes(true))
    // Those that were in flight may have been answered by both nodes.
    const before = answers.length + USERS
    await waitFor(() => answers.length >= before + 2 * USERS)
    const unavailable = answers.slice(before)
    expect(unavailable.filter(({ status, hasRetryAfter }) => status !== 503 || !hasRetryAfter)).toEqual([])
    await waitFor(() => replicas[0]?.output().includes('with a majority; start the other nodes') ?? false)

    await first.becomeCluster()
    await waitFor(first.isSynced)
    await Promise.all([second.start(), third.start()])
    await waitFor(() => first.isOneOf(3))
    await waitFor(async () => !(await areReady()).includes(false))
    const after = answers.length
    await waitFor(() => answers.slice(after).filter(({ status }) => status === 200).length >= USERS)
    isEnding = true
    await Promise.all(running)
    const counts = Map.groupBy(answers, ({ status }) => status)
    const longest = Math.max(...answers.map(({ seconds }) => seconds))
    console.log(
      `${kind}: ${[...counts].map(([status, each]) => `${each.length} answered with ${status}`).join(', ')}; the longest answer took ${longest} s`,
    )
    expect(
      answers.filter(({ status }) => ![200, 503].includes(status)),
      errors().join('\n'),
    ).toEqual([])
    expect(acknowledged.size).toBe(USERS)
    const kept = await third.query("select lower(hex(userid)) as id, name from users where name like 'Eve %'")
    const changeOf = new Map(kept.map(({ id, name }) => [String(id), Number(String(name).slice(4))]))
    const lost = [...acknowledged].filter(
      ([userid, change]) => (changeOf.get(userid.replaceAll('-', '')) ?? 0) < change,
    )
    expect(lost).toEqual([])
  })
})
