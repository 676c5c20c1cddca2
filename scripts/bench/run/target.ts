import { randomBytes } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { prepareQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { getScheme } from '@latchkey/shared/passwords/schemes.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'

export const PASSWORD = 'c0rrect-Horse!'
const USERS = 256

/** The servers and users that all hosts share. */
export interface Target {
  databaseUrl: string
  queueUrl: string
  /** Base64. */
  jwtSecret: string
  mailSecret: string
  issuer: string
  /** Half of the users have the one hash, half the other. */
  users: Readonly<Record<Scheme, readonly BenchUser[]>>
}

export type Scheme = 'sha1' | 'argon2id'

export interface BenchUser {
  userid: string
  email: string
}

/** Prepares a database for the benchmark: its tables, its queue, and users that no other run knows. */
export async function prepareTarget(databaseUrl: string, queueUrl: string): Promise<Target> {
  const db = await openDatabase(databaseUrl)
  try {
    await createMigrator(db).up()
    await prepareQueue(queueUrl)
    const users = createUserRepository(db)
    const run = randomBytes(4).toString('hex')
    const add = async (scheme: Scheme): Promise<BenchUser[]> => {
      const passwordHash = await getScheme(scheme).hash(PASSWORD)
      const names = Array.from({ length: USERS }, (_, index) => `${run}${scheme.slice(0, 1)}${index}`)
      return Promise.all(
        names.map(async (username) => {
          const email = `${username}@example.com`
          const userid = await users.insert({ name: 'User', email, username, passwordHash, role: 'user' })
          return { userid, email }
        }),
      )
    }
    return {
      databaseUrl,
      queueUrl,
      jwtSecret: randomBytes(64).toString('base64'),
      mailSecret: randomBytes(32).toString('base64'),
      issuer: 'http://bench',
      users: { sha1: await add('sha1'), argon2id: await add('argon2id') },
    }
  } finally {
    await db.close()
  }
}
