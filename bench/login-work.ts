/*
 * Measures whether refusing a login takes the same work for every kind of user. Refuses a wrong password, an unknown, a
 * deleted and a SHA-1 user in turn, and prints the processor time of each kind: of all threads, which other work on the
 * machine does not lengthen. The hash takes several milliseconds; the kinds may differ by much less than one. The least
 * of each kind is what the process itself disturbs least.
 *
 *   npm run bench:login [-- --rounds 25 --accepted sha1,argon2id,bcrypt]
 */
import { hash, randomBytes } from 'node:crypto'
import { parseArgs } from 'node:util'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { openDatabase } from '@latchkey/shared/database/open-database.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { ACCEPTED_BY_DEFAULT } from '@latchkey/shared/passwords/scheme-names.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { createLogger } from '@latchkey/shared/telemetry/logger.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { Registry } from 'prom-client'
import { buildApp } from '../services/auth-api/src/app.ts'
import { openAuditTrail } from '../services/auth-api/src/audit/audit-trail.ts'
import { parseConfig } from '../services/auth-api/src/config.ts'
import { withPostgres } from './with-postgres.ts'

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '25' },
    accepted: { type: 'string', default: ACCEPTED_BY_DEFAULT.join(',') },
  },
})

await withPostgres(run)

async function run(databaseUrl: string): Promise<void> {
  const config = parseConfig({
    APP_ENV: 'test',
    API_SERVER: 'http://bench',
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    PASSWORD_HASH: 'argon2id',
    PASSWORD_HASH_ACCEPTED: values.accepted,
    DATABASE_URL: databaseUrl,
    RATE_LIMIT_LOGIN: '0',
  })
  const db = await openDatabase(databaseUrl)
  await createMigrator(db).up()
  const passwords = createPasswordHasher(config.passwords)
  const logger = createLogger('auth-api', 'silent')
  const audit = openAuditTrail({ db, logger, registry: new Registry(), clock: Date.now })
  const { server } = await buildApp(config, {
    db,
    audit,
    passwords,
    dispatcher: { dispatch: () => undefined, discard: () => undefined, close: async () => undefined },
    queue: { ping: async () => undefined },
    logger,
  })

  const users = createUserRepository(db)
  const aUser = async (username: string, passwordHash: string) => {
    const email = `${username}@example.com`
    await users.insert({ name: 'Ada', email, username, passwordHash, role: 'user' })
    return email
  }
  const emails: Record<string, string> = {
    'wrong password': await aUser('argon2id', await passwords.hash('the password')),
    'SHA-1 user': await aUser('sha1', hash('sha1', 'the password')),
    'unknown user': 'nobody@example.com',
    'deleted user': await aUser('deleted', await passwords.hash('the password')),
  }
  for (const scheme of config.passwords.accepted.filter((name) => !ACCEPTED_BY_DEFAULT.includes(name)))
    emails[`${scheme} user`] = await aUser(scheme, await getScheme(scheme).hash('the password'))
  if (config.passwords.accepted.includes('bcrypt'))
    emails['bcrypt user, cost 10'] = await aUser('bcrypt10', `$2y$10$${'.'.repeat(53)}`)
  await db.execute({
    name: 'bench-delete',
    text: "update users set deleted_at = current_timestamp where username = 'deleted'",
  })

  const times = new Map<string, number[]>()
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const [kind, username] of Object.entries(emails)) {
      const before = process.cpuUsage()
      const payload = { username, password: 'not the password' }
      const { statusCode } = await server.inject({ method: 'POST', url: '/login', payload })
      if (statusCode !== 401) throw new Error(`A login was answered ${statusCode}`)
      const { user, system } = process.cpuUsage(before)
      times.set(kind, [...(times.get(kind) ?? []), (user + system) / 1000])
    }
  }
  console.table([...times].map(([login, list]) => describe(login, list)))
  await server.close()
  await audit.close()
  await passwords.close()
  await db.close()
}

function describe(login: string, times: readonly number[]) {
  const sorted = [...times].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? Number.NaN
  return { login, 'least ms': sorted[0]?.toFixed(2), 'median ms': median.toFixed(2) }
}
