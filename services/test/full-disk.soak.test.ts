import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { addressOf, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { docker } from '@latchkey/test-support/images.ts'
import { postgresContainer } from '@latchkey/test-support/postgres-container.ts'
import { RedisContainer } from '@testcontainers/redis'
import { describe, expect, it } from 'vitest'

const FILLER = '/var/lib/postgresql/filler'
/** More than fit into the free pages of the tables. */
const MAX_REQUESTS = 5_000

describe('a database whose disk is full', () => {
  it('causes 503 for what it has to store, one line in the log, and another one when it has room again', async () => {
    await using postgres = await postgresContainer()
      .withTmpFs({ '/var/lib/postgresql': 'rw,size=150m' })
      .withCommand(['postgres', '-c', 'max_wal_size=32MB', '-c', 'min_wal_size=32MB'])
      .start()
    await using redis = await new RedisContainer('redis:8').start()
    const url = postgres.getConnectionUri()
    await withDatabase(url, (db) => createMigrator(db).up())
    await using service = startAuthApiProcess({
      DATABASE_URL: url,
      QUEUE_URL: redis.getConnectionUrl(),
      RATE_LIMIT_RESET: '0',
      RATE_LIMIT_REQUESTS: '0',
    })
    const address = await addressOf(service)
    const request = async () => {
      const response = await fetch(`${address}/login/resetrequest`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: '{"email":"nobody@example.com"}',
      })
      return { status: response.status, retryAfter: Number(response.headers.get('retry-after')) }
    }
    const readReady = async () => {
      const response = await fetch(`${address}/health/ready`)
      return { code: response.status, body: await response.json() }
    }
    const isWritten = (pattern: RegExp) => expect.poll(() => service.output()).toMatch(pattern)

    await docker('exec', postgres.getId(), 'sh', '-c', `cat /dev/zero > ${FILLER} 2>/dev/null || true`)
    let refused = 0
    for (let sent = 0; sent < MAX_REQUESTS && refused < 20; sent++) {
      const { status, retryAfter } = await request()
      if (status === 200) continue
      expect({ status, retryAfter }).toEqual({ status: 503, retryAfter: 2 })
      refused++
    }
    expect(refused).toBe(20)
    await expect.poll(readReady).toMatchObject({
      code: 200,
      body: { checks: { service: 'degraded', database: 'failing', queue: 'ok' } },
    })
    await isWritten(/"fails":\["database at [^"]+: failing \(the disk of the database is full\)"\]/)

    await docker('exec', postgres.getId(), 'rm', FILLER)
    expect((await request()).status).toBe(200)
    await isWritten(/"failed":20,"msg":"ready"/)
    expect(service.output().match(/ready, degraded/g)).toHaveLength(1)
    expect(service.output()).not.toContain('"stack"')
  })
})
