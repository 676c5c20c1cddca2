import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { connectionsTo, redisConfig } from './deployed-secrets.ts'

/*
 * The one-shot service of docker-compose.yml that makes the secrets. Each service mounts a folder of its own, so
 * mailer-worker never sees JWT_SECRET and Redis never sees a database password. What exists is kept:
 * a second `docker compose up` logs nobody out and still opens the database.
 */
const USAGE = `Usage: docker compose run --rm secrets-postgres node scripts/compose-secrets.ts [option]

Makes the secrets that are missing. With the MySQL profile the service is secrets-mysql.

  --rotate-jwt-secret           make a new JWT_SECRET; the present one becomes JWT_SECRET_PREVIOUS
  --forget-previous-jwt-secret  drop JWT_SECRET_PREVIOUS, after TOKEN_LIFETIME
  --change-database             let the services go from MySQL to PostgreSQL, or back; no data is carried over
  --help                        show this

After either of the first two: docker compose restart auth-api
`
const ROOT = '/secrets'
const JWT_SECRET = 'jwt_secret'
const PREVIOUS_JWT_SECRET = 'previous_jwt_secret'
const keptPath = (name: string) => join(ROOT, 'kept', name)
/** The user `node` of the image. */
const NODE_USER = 1000

const engine = process.env.DATABASE_ENGINE
if (engine !== 'postgres' && engine !== 'mysql') throw new Error('DATABASE_ENGINE must be postgres or mysql')

const { rotate, forget, change } = readArguments()
if (!change) await refuseAnotherDatabase(engine)
if (rotate) await rotateJwtSecret()
if (forget) await forgetPreviousJwtSecret()

const jwtSecret = await keep(JWT_SECRET, 64)
const previousJwtSecret = await find(PREVIOUS_JWT_SECRET)
const mailSecret = await keep('mail_secret', 32)
const databasePassword = await keep('database_password', 24)
const redisPassword = await keep('redis_password', 24)

const settings = {
  ...connectionsTo({ engine, databasePassword, redisPassword }),
  MAIL_SECRET: mailSecret,
}
const signing = {
  JWT_SECRET: jwtSecret,
  ...(previousJwtSecret ? { JWT_SECRET_PREVIOUS: previousJwtSecret } : {}),
}
await publish('auth-api/credentials.env', envFile({ ...signing, ...settings }), NODE_USER)
await publish('mailer-worker/credentials.env', envFile(settings), NODE_USER)
await publish('database/password', databasePassword)
await publish('redis/password', redisPassword)
await publish('redis/redis.conf', redisConfig(redisPassword))

function envFile(values: Record<string, string>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('')
}

function readArguments(): { rotate: boolean; forget: boolean; change: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        'rotate-jwt-secret': { type: 'boolean', default: false },
        'forget-previous-jwt-secret': { type: 'boolean', default: false },
        'change-database': { type: 'boolean', default: false },
        help: { type: 'boolean', default: false },
      },
    })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    const rotate = values['rotate-jwt-secret']
    const forget = values['forget-previous-jwt-secret']
    if (rotate && forget) refuse('A rotation and its end are two steps, TOKEN_LIFETIME apart', 2)
    return { rotate, forget, change: values['change-database'] }
  } catch (error) {
    return refuse(error instanceof Error ? error.message : String(error), 2)
  }
}

/** A command that names no profile means that of .env: the services would come up, well and on an empty database. */
async function refuseAnotherDatabase(wanted: string): Promise<void> {
  const published = await read(join(ROOT, 'auth-api/credentials.env'))
  const present = /^DATABASE_URL=(\w+):/m.exec(published)?.[1] ?? wanted
  if (present === wanted) return
  refuse(
    `The services are on ${present}, and this is for ${wanted}. COMPOSE_PROFILES=${present}, in the environment or in .env, keeps every command on it; --change-database changes over, to a database without its data`,
    1,
  )
}

/** Tokens of the present secret stay valid: it goes on verifying as the previous one. */
async function rotateJwtSecret(): Promise<void> {
  const present = await find(JWT_SECRET)
  if (!present) refuse('There is no JWT_SECRET to rotate yet: docker compose up makes it', 1)
  if (await find(PREVIOUS_JWT_SECRET)) {
    refuse(
      'A rotation is not finished: a second one would end the tokens of JWT_SECRET_PREVIOUS. TOKEN_LIFETIME after the first one use --forget-previous-jwt-secret',
      1,
    )
  }
  await write(keptPath(PREVIOUS_JWT_SECRET), present, 0o400)
  await write(keptPath(JWT_SECRET), generateSecret(64), 0o400)
  process.stdout.write('JWT_SECRET is new; the one before is JWT_SECRET_PREVIOUS.\n')
}

async function forgetPreviousJwtSecret(): Promise<void> {
  if (!(await find(PREVIOUS_JWT_SECRET))) refuse('There is no JWT_SECRET_PREVIOUS', 1)
  await rm(keptPath(PREVIOUS_JWT_SECRET))
  process.stdout.write('JWT_SECRET_PREVIOUS is gone.\n')
}

/** The secret of that name, made when there is none. */
async function keep(name: string, byteLength: number): Promise<string> {
  const known = await find(name)
  if (known) return known
  const fresh = generateSecret(byteLength)
  await write(keptPath(name), fresh, 0o400)
  return fresh
}

function find(name: string): Promise<string> {
  return read(keptPath(name))
}

async function read(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    // What cannot be read is no reason to make another one over it.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function refuse(message: string, exitCode: number): never {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
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
