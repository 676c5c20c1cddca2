import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { openRedis } from '@latchkey/shared/redis/open-redis.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { anAuthority } from '@latchkey/test-support/certificate-authority.ts'
import { SERVERS, startServer } from '@latchkey/test-support/tls-servers.ts'
import { describe, expect, it } from 'vitest'

const WAIT_MS = 5_000

/** Connects as a service does; rejects with the reason of the first failure. */
const CLIENTS = {
  postgres: (url: string) => selectOne(url),
  'queue in postgres': (url: string) => prepareQueue(url),
  mysql: (url: string) => selectOne(url),
  redis: async (url: string) => {
    const client = openRedis(url, { connectTimeout: WAIT_MS, maxRetriesPerRequest: 0 }, () => undefined)
    const failed = new Promise<never>((_, reject) => void client.once('error', reject))
    try {
      await Promise.race([client.ping(), failed])
    } finally {
      client.disconnect()
    }
  },
}

async function selectOne(url: string): Promise<void> {
  const db = await openDatabase(url, { poolSize: 1 })
  try {
    await db.query({ name: 'tls-one', text: 'select 1 as one' })
  } finally {
    await db.close()
  }
}

const HOSTS = ['localhost', '127.0.0.1'] as const
const KINDS = [
  { client: 'postgres', server: 'postgres', scheme: 'postgres', database: '/latchkey' },
  { client: 'queue in postgres', server: 'postgres', scheme: 'postgres', database: '/latchkey' },
  { client: 'mysql', server: 'mysql', scheme: 'mysql', database: '/latchkey' },
  { client: 'redis', server: 'redis', scheme: 'redis', database: '' },
] as const

/** The options, whether the certificate has to be for the host of the URL, and whether they name the authority. */
const OPTIONS = [
  { options: 'sslmode=require', verifies: 'nothing' },
  { options: 'ssl-mode=REQUIRED', verifies: 'nothing' },
  { options: 'useSSL=true', verifies: 'nothing' },
  { options: 'sslmode=verify-ca&sslrootcert=CA', verifies: 'the authority' },
  { options: 'sslmode=require&sslrootcert=CA', verifies: 'the authority' },
  { options: 'sslmode=verify-full&sslrootcert=CA', verifies: 'the host' },
  { options: 'ssl-mode=VERIFY_IDENTITY&ssl-ca=CA', verifies: 'the host' },
  { options: 'ssl=true&sslrootcert=CA', verifies: 'the host' },
  { options: 'tls=true&sslrootcert=CA', verifies: 'the host' },
  { options: 'sslmode=verify-full', verifies: 'an authority that is not trusted' },
  { options: 'sslmode=verify-ca', verifies: 'an authority that is not trusted' },
] as const

describe.each(KINDS)('$client over TLS', ({ client, server, scheme, database }) => {
  it.each(HOSTS)('verifies what its URL says, by a certificate for %s', async (certified) => {
    const authority = await anAuthority(certified)
    const other = await anAuthority(certified)
    const at = await startServer(server, authority)
    const port = at.split(':')[1]
    for (const host of HOSTS) {
      const connect = async (options: string, path = authority.path) => {
        const url = `${scheme}://${SERVERS[server].owner}@${host}:${port}${database}?${options.replace('CA', path)}`
        const name = scheme === 'redis' ? 'QUEUE_URL' : 'DATABASE_URL'
        parseSettings([name], { [name]: url })
        return CLIENTS[client](url).then(
          () => 'connected',
          (error) => String(error.cause?.message ?? error.message),
        )
      }
      for (const { options, verifies } of OPTIONS) {
        const outcome = await connect(options)
        const what = `${options} at ${host}: ${outcome}`
        const isRight =
          verifies === 'nothing' ||
          verifies === 'the authority' ||
          (verifies === 'the host' && host === certified)
        if (isRight) expect(outcome, what).toBe('connected')
        else if (verifies === 'the host') expect(outcome, what).toMatch(/altnames/)
        else expect(outcome, what).toMatch(/certificate/)
      }
      expect(await connect('sslmode=verify-ca&sslrootcert=CA', other.path)).toMatch(/certificate/)
      if (server === 'mysql') {
        expect(await connect('ssl={"verifyIdentity":true}')).toMatch(/certificate/)
        expect(await connect('ssl={"rejectUnauthorized":false}')).toBe('connected')
        expect(await connect('sslmode=disable')).not.toBe('connected')
      }
    }
    if (server === 'redis') return
    const url = `${scheme}://${SERVERS[server].owner}@${at}${database}?sslmode=verify-full`
    await expect(
      withDatabase(url, async (db) => void (await db.query({ name: 'x', text: 'select 1' }))),
    ).rejects.toThrow(
      new RegExp(`^The database at ${at} \\(DATABASE_URL\\) cannot be reached: .*NODE_EXTRA_CA_CERTS`),
    )
  })
})
