import { randomBytes } from 'node:crypto'
import { SERVICE_LOGINS } from '@latchkey/test-support/servers/migrated-template.ts'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import type { WorkerProcess } from '@latchkey/test-support/worker-process.ts'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addressesOf, anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'
import { createOwnServers } from './support/own-servers.ts'

describe('mailer-worker, where the database answers', () => {
  const user = `limited_${randomBytes(6).toString('hex')}`
  let servers: Awaited<ReturnType<typeof createOwnServers>>
  let system: MailSystem
  let owner: pg.Client
  /** The URL for a login of the worker whose connections can be limited. */
  let url: string
  beforeAll(async () => {
    servers = await createOwnServers()
    system = await openMailSystem(servers)
    owner = new pg.Client(servers.databaseUrl)
    await owner.connect()
    await owner.query(
      `create role ${user} login password 'limited'; grant ${SERVICE_LOGINS['mailer-worker'].username} to ${user}`,
    )
    url = Object.assign(new URL(servers.databaseUrl), { username: user, password: 'limited' }).href
  })
  afterAll(async () => {
    await owner?.query(`drop role ${user}`)
    await owner?.end()
    await system?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
  })

  const limit = (connections: number) => owner.query(`alter role ${user} connection limit ${connections}`)
  const check = async (worker: WorkerProcess) => {
    const answer = await worker.get('/health/ready').catch(() => undefined)
    const { checks } = ((await answer?.json()) ?? {}) as { checks?: Record<string, string> }
    return [answer?.status, checks?.database]
  }

  it('says that a table is locked and who has it, and stays ready', async () => {
    await using worker = await system.startWorker({ DATABASE_URL: url })
    await worker.ready()
    const { rows } = await owner
      .query('begin; lock table mail_outbox in access exclusive mode; select pg_backend_pid() as pid')
      .then((results) => (results as unknown as pg.QueryResult[])[2] ?? { rows: [] })
    await expect.poll(() => check(worker)).toEqual([200, 'locked'])
    await waitFor(() =>
      worker.log().includes(`: locked (waits for a lock on mail_outbox, held by pid ${rows[0]?.pid})`),
    )
    expect(await (await worker.get('/metrics')).text()).toContain(
      'latchkey_dependency_state{dependency="database",state="locked"} 1\n',
    )
    await owner.query('rollback')
    await expect.poll(() => check(worker)).toEqual([200, 'ok'])
  })

  it('says that the server is full, and sends over the connection that it has', async () => {
    await limit(1)
    const holder = new pg.Client(url)
    await holder.connect()
    await using worker = await system.startWorker({ DATABASE_URL: url })
    await waitFor(() =>
      worker.log().includes(': server full (the server accepts no more connections (too many'),
    )
    expect(await check(worker)).toEqual([503, 'server full'])

    await holder.end()
    await worker.ready()
    await system.expectOneEach(await requested(10))
    expect(await check(worker), 'with one connection').toEqual([200, 'ok'])
    expect(worker.log()).not.toMatch(/unreachable|cannot be reached/)
    await limit(-1)
  })

  async function requested(count: number): Promise<string[]> {
    const addresses = addressesOf(anAddress(), count)
    await system.requestAll(addresses)
    return addresses
  }
})
