import { randomBytes } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { engine, isCluster, isPostgres } from '@latchkey/test-support/engine.ts'
import { SERVICE_LOGINS } from '@latchkey/test-support/servers/migrated-template.ts'
import { createTestDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import mysql from 'mysql2/promise'
import pg from 'pg'
import { describe, it } from 'vitest'
import { type SeverableProxy, startSeverableProxy } from './support/severable-proxy.ts'
import { aToken, bearer, logIn, startApp, type TestApp } from './support/start-app.ts'

const POOL_SIZE = 3

interface Context {
  app: TestApp
  database: TestDatabase
  db: Database
  proxy: SeverableProxy
  login: LimitedLogin
  /** A connection beside those of the service. */
  other: Session
}

interface Fault {
  fault: string
  /** Begins it; returns what ends it. */
  begin: (context: Context) => Promise<() => unknown>
  /** The request that the fault refuses; a login by default. */
  refuses?: 'login' | 'change'
  /** The detail of the problem. */
  detail: RegExp
  /** The reason in the log of the request. */
  reason: RegExp
  /** The status of `/health/ready`. */
  ready: 200 | 503
  /** The state that its check of the database reports, and the metric. */
  check: RegExp
  /** The reason in the log of readiness, if it says more than that of the request. */
  describes?: RegExp
}

const FAULTS: Fault[] = [
  {
    fault: 'a pool in use',
    async begin({ db }) {
      const { promise: held, resolve: release } = Promise.withResolvers<void>()
      const holders = Array.from({ length: POOL_SIZE }, () => db.transaction(() => held))
      await waitFor(() => db.usage().inUse === POOL_SIZE)
      return () => {
        release()
        return Promise.all(holders)
      }
    },
    detail: /^The database is busy: no connection became free/,
    reason: /^3 of 3 connections in use$/,
    ready: 200,
    check: /^connections in use$/,
  },
  {
    fault: 'a locked row',
    begin: ({ other }) => other.begin('select name from users for update'),
    refuses: 'change',
    detail: /^The database is busy: what the request needs is locked/,
    reason: /^waits for a lock$/,
    ready: 200,
    check: /^locked$/,
    ...(isPostgres() ? { describes: /^waits for a lock on users, held by pid \d+$/ } : {}),
  },
  {
    fault: 'a locked table',
    begin: ({ other }) =>
      other.begin(isPostgres() ? 'lock table users in access exclusive mode' : 'lock tables users write'),
    detail: /^The database is busy: what the request needs is locked/,
    reason: /^waits for a lock$/,
    ready: 200,
    check: /^locked$/,
    ...(isPostgres() ? { describes: /^waits for a lock on users, held by pid \d+$/ } : {}),
  },
  {
    fault: 'a full server, and no connection',
    async begin({ login, proxy }) {
      // Ends those of the pool.
      proxy.sever()
      await login.limit(1)
      let holder: Session | undefined
      await waitFor(async () => {
        holder = await openSession(login.url).catch(() => undefined)
        return holder !== undefined
      })
      proxy.restore()
      return () => holder?.[Symbol.asyncDispose]()
    },
    detail: /^The database accepts no more connections/,
    reason: /^the server accepts no more connections \(.+\)$/,
    ready: 503,
    check: /^server full$/,
  },
  {
    fault: 'a server that is down',
    begin: async ({ proxy }) => {
      proxy.sever()
      return proxy.restore
    },
    detail: /^The database cannot be reached$/,
    reason: /./,
    ready: 503,
    check: /^unreachable$/,
  },
  {
    fault: 'a server that is paused',
    begin: async ({ proxy }) => {
      proxy.stall()
      return proxy.restore
    },
    // The first where it had a connection.
    detail: /^The database (does not answer in time|cannot be reached)/,
    reason: /^(no answer within 10 s$|Connection terminated due to connection timeout|connect ETIMEDOUT$)/,
    ready: 503,
    check: /^(no answer|unreachable)$/,
  },
]

// Behind a pooler the server's limits are those of an operator; a cluster certifies, and has no such locks.
describe.runIf(engine() !== 'pgbouncer' && engine() !== 'given' && !isCluster())(
  'a fault of the database',
  { concurrent: true },
  () => {
    it.for(FAULTS)('is named: $fault', async (fault, { expect }) => {
      await using database = await createTestDatabase()
      await using login = await createLimitedLogin(database)
      await using proxy = await startSeverableProxy(login.url)
      const db = await openDatabase(proxy.url, { poolSize: POOL_SIZE, onConnectionError: () => undefined })
      await using app = await startApp({ database: { ...database, db } })
      await using other = await openSession(database.url)
      const user = await aUser(app)
      const headers = bearer(await aToken(app, user))
      const change = () =>
        app.server.inject({ method: 'PUT', url: '/profile', headers, payload: { name: 'Grace' } })
      const send = () => (fault.refuses === 'change' ? change() : logIn(app, user.email))
      const readReady = () => app.server.inject({ url: '/health/ready' })
      await expect.poll(async () => (await readReady()).statusCode).toBe(200)

      const end = await fault.begin({ app, database, db, proxy, login, other })
      const answering = Promise.all([send(), send()])
      let isAnswered = false
      void answering.finally(() => {
        isAnswered = true
      })
      const described: string[] = []
      while (!isAnswered) {
        described.push((await app.readiness.read()).reasons.database ?? '')
        await wait(100)
      }
      const [answer] = await answering
      expect([answer.statusCode, answer.headers['retry-after']]).toEqual([503, '2'])
      expect(answer.json().detail).toMatch(fault.detail)
      const refusal = app.logLines
        .map((line) => JSON.parse(line))
        .find(({ msg }) => msg === 'the request failed')
      expect(refusal.err.reason).toMatch(fault.reason)

      await expect
        .poll(async () => {
          // Another one fails: a check that is late on a busy machine hides those before it.
          await send()
          return (await readReady()).json().checks.database
        })
        .toMatch(fault.check)
      const ready = await readReady()
      expect([ready.statusCode, ready.json().checks.database]).toEqual([
        fault.ready,
        expect.stringMatching(fault.check),
      ])
      const metrics = await app.registry.metrics()
      const state = /latchkey_dependency_state\{dependency="database",state="([^"]+)"\} 1/.exec(metrics)?.[1]
      expect(state).toMatch(fault.check)
      expect(metrics).toContain('latchkey_dependency_up{dependency="database"} 0')
      if (fault.describes) expect(described).toContainEqual(expect.stringMatching(fault.describes))

      await end()
      await login.limit(50)
      await expect.poll(async () => (await send()).statusCode).toBe(200)
      await db.close()
    })

    it('is none while a full server leaves the pool one connection', async ({ expect }) => {
      await using database = await createTestDatabase()
      await using login = await createLimitedLogin(database)
      await login.limit(1)
      const db = await openDatabase(login.url, { poolSize: 10 })
      await using app = await startApp({ database: { ...database, db } })
      const user = await aUser(app)
      for (const wave of [1, 2, 3]) {
        const answers = await Promise.all(Array.from({ length: 20 }, () => logIn(app, user.email)))
        expect(
          answers.map((answer) => answer.json().detail),
          `wave ${wave}`,
        ).toEqual(answers.map(() => undefined))
      }
      const ready = await app.server.inject({ url: '/health/ready' })
      expect(ready.json().checks.database).toBe('ok')
      // Where the server has room again, the pool opens more.
      await login.limit(50)
      await expect
        .poll(async () => {
          const { promise: held, resolve: release } = Promise.withResolvers<void>()
          const holders = [1, 2, 3].map(() => db.transaction(() => held))
          await new Promise(setImmediate)
          const { inUse } = db.usage()
          release()
          await Promise.all(holders)
          return inUse
        })
        .toBe(3)
      await db.close()
    })
  },
)

interface LimitedLogin extends AsyncDisposable {
  url: string
  /** Lets it have as many connections. */
  limit(connections: number): Promise<void>
}

/** A login with the rights of auth-api whose connections can be limited. */
async function createLimitedLogin({ url: ownerUrl, db }: TestDatabase): Promise<LimitedLogin> {
  const user = `limited_${randomBytes(6).toString('hex')}`
  const url = Object.assign(new URL(ownerUrl), { username: user, password: 'limited' })
  await db.runScript(
    isPostgres()
      ? `create role ${user} login password 'limited'; grant ${SERVICE_LOGINS['auth-api'].username} to ${user}`
      : `create user ${user} identified by 'limited'; grant all on ${url.pathname.slice(1)}.* to ${user}`,
  )
  return {
    url: url.href,
    limit: (connections) =>
      db.runScript(
        isPostgres()
          ? `alter role ${user} connection limit ${connections}`
          : `alter user ${user} with max_user_connections ${connections}`,
      ),
    [Symbol.asyncDispose]: () => db.runScript(`drop ${isPostgres() ? 'role' : 'user'} ${user}`),
  }
}

interface Session extends AsyncDisposable {
  /** Runs a statement in a transaction; returns what ends that. */
  begin(sql: string): Promise<() => Promise<unknown>>
}

async function openSession(url: string): Promise<Session> {
  const run = isPostgres() ? await connectToPostgres(url) : await connectToMysql(url)
  return {
    async begin(sql) {
      await run('begin')
      await run(sql)
      return () => run(isPostgres() ? 'rollback' : 'unlock tables; rollback')
    },
    [Symbol.asyncDispose]: run.end,
  }
}

type Run = ((sql: string) => Promise<unknown>) & { end(): Promise<void> }

async function connectToPostgres(url: string): Promise<Run> {
  const client = new pg.Client(url)
  // The end of the database ends it.
  client.on('error', () => undefined)
  await client.connect()
  return Object.assign((sql: string) => client.query(sql), { end: () => client.end() })
}

async function connectToMysql(url: string): Promise<Run> {
  const uri = url.replace(/^mariadb:/, 'mysql:')
  const connection = await mysql.createConnection({ uri, multipleStatements: true })
  connection.on('error', () => undefined)
  return Object.assign((sql: string) => connection.query(sql), { end: () => connection.end() })
}
