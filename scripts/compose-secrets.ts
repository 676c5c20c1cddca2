import { chown, mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { connectionsTo, redisConfig } from './deployed-secrets.ts'

/*
 * The one-shot service of docker-compose.yml that makes the secrets. Each service mounts a folder of its own, so
 * mailer-worker never sees JWT_SECRET and Redis never sees a database password. What exists is kept:
 * a second `docker compose up` logs nobody out and still opens the database.
 */
const ROOT = '/secrets'
/** The user `node` of the image. */
const NODE_USER = 1000

const engine = process.env.DATABASE_ENGINE
if (engine !== 'postgres' && engine !== 'mysql') throw new Error('DATABASE_ENGINE must be postgres or mysql')

const jwtSecret = await keep('jwt_secret', 64)
const mailSecret = await keep('mail_secret', 32)
const databasePassword = await keep('database_password', 24)
const redisPassword = await keep('redis_password', 24)

const settings = {
  ...connectionsTo({ engine, databasePassword, redisPassword }),
  MAIL_SECRET: mailSecret,
}
await publish('auth-api/credentials.env', envFile({ JWT_SECRET: jwtSecret, ...settings }), NODE_USER)
await publish('mailer-worker/credentials.env', envFile(settings), NODE_USER)
await publish('database/password', databasePassword)
await publish('redis/password', redisPassword)
await publish('redis/redis.conf', redisConfig(redisPassword))

function envFile(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

/** The secret of that name, made when there is none. */
async function keep(name: string, byteLength: number): Promise<string> {
  const path = join(ROOT, 'kept', name)
  const known = await readFile(path, 'utf8').catch(() => '')
  if (known) return known
  const fresh = generateSecret(byteLength)
  await write(path, fresh, 0o400)
  return fresh
}

/** A file that one service reads: by its own user where that is known, else by whoever mounts the folder. */
async function publish(name: string, text: string, owner?: number): Promise<void> {
  const path = join(ROOT, name)
  await write(path, text, owner === undefined ? 0o444 : 0o400, owner)
}

async function write(path: string, text: string, mode: number, owner?: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  // A file that is there under its name is whole, whatever ends this process.
  const unfinished = `${path}.new`
  await writeFile(unfinished, text, { mode })
  if (owner !== undefined) await chown(unfinished, owner, owner)
  await rename(unfinished, path)
}
