import { chown, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/app-error.ts'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { connectionsTo } from './deployed-secrets.ts'

/*
 * The one-shot service of docker-compose.yml that generates the secrets of the services; the one before it generates the
 * passwords of the database and of Redis. Each service mounts its own folder, so that mailer-worker never sees JWT_SECRET.
 * Existing secrets are kept: a second `docker compose up` logs no user out and still opens the database.
 */
const USAGE = `Usage: docker compose run --rm secrets-postgres node scripts/release/compose-secrets.ts [option]

Generates missing secrets. With the MySQL profile the service is secrets-mysql.

  --rotate-jwt-secret           generate a new JWT_SECRET; the current one becomes JWT_SECRET_PREVIOUS
  --forget-previous-jwt-secret  remove JWT_SECRET_PREVIOUS, once TOKEN_LIFETIME has passed
  --change-database             switch the services from MySQL to PostgreSQL, or back; no data is copied
  --help                        show this help

Then, after either of the first two: docker compose restart auth-api
`
const ROOT = '/secrets'
const JWT_SECRET = 'jwt_secret'
const PREVIOUS_JWT_SECRET = 'previous_jwt_secret'
const keptPath = (name: string) => join(ROOT, 'kept', name)
/** The user `node` of the image. */
const NODE_USER = 1000
const ENVIRONMENT = 'environment'

const { rotate, forget, change } = readArguments()
const environment = process.env.APP_ENV
if (!environment) throw new Error('APP_ENV is missing')
const engine = process.env.DATABASE_ENGINE
if (engine !== 'postgres' && engine !== 'mysql') throw new Error('DATABASE_ENGINE must be postgres or mysql')

await refuseAnotherEnvironment(environment)
if (!change) await refuseAnotherDatabase(engine)
await write(keptPath(ENVIRONMENT), environment, 0o400)
if (rotate) await rotateJwtSecret()
if (forget) await forgetPreviousJwtSecret()

const jwtSecret = await keep(JWT_SECRET, 64)
const previousJwtSecret = await find(PREVIOUS_JWT_SECRET)
const mailSecret = await keep('mail_secret', 32)
const databasePassword = await keep('database_password', 24)
const redisPassword = await keep('redis_password', 24)

const settings = {
  // A service that is started for another environment refuses these secrets.
  APP_ENV: environment,
  ...connectionsTo({ engine, databasePassword, redisPassword }),
  MAIL_SECRET: mailSecret,
}
const signing = {
  JWT_SECRET: jwtSecret,
  ...(previousJwtSecret ? { JWT_SECRET_PREVIOUS: previousJwtSecret } : {}),
}
await publish('auth-api/credentials.env', envFile({ ...signing, ...settings }))
await publish('mailer-worker/credentials.env', envFile(settings))

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
    if (rotate && forget) refuse('Rotating and forgetting are two steps; wait TOKEN_LIFETIME between them', 2)
    return { rotate, forget, change: values['change-database'] }
  } catch (error) {
    return refuse(errorMessage(error), 2)
  }
}

/**
 * Secrets and tables outlast their containers. In another environment the demo users would be added to them, and mail would
 * go elsewhere.
 */
async function refuseAnotherEnvironment(wanted: string): Promise<void> {
  const current = (await find(ENVIRONMENT)) || wanted
  if (current === wanted) return
  const line =
    current === 'dev'
      ? 'Remove COMPOSE_FILE from the environment and from .env'
      : `Put COMPOSE_FILE=docker-compose.yml:docker-compose.${current}.yml into .env`
  refuse(
    `These volumes belong to ${current}, and this command is for ${wanted}; nothing was changed. ${line}. For a second installation set COMPOSE_PROJECT_NAME`,
    1,
  )
}

/** A command without a profile uses the one of .env: the services would start on an empty database without an error. */
async function refuseAnotherDatabase(wanted: string): Promise<void> {
  const published = await read(join(ROOT, 'auth-api/credentials.env'))
  const current = /^DATABASE_URL=(\w+):/m.exec(published)?.[1] ?? wanted
  if (current === wanted) return
  refuse(
    `The services use ${current}, and this command is for ${wanted}. Set COMPOSE_PROFILES=${current} in the environment or in .env, or switch with --change-database, which copies no data`,
    1,
  )
}

/** Tokens of the current secret stay valid: it still verifies as the previous one. */
async function rotateJwtSecret(): Promise<void> {
  const current = await find(JWT_SECRET)
  if (!current) refuse('No JWT_SECRET exists to rotate; docker compose up generates it', 1)
  if (await find(PREVIOUS_JWT_SECRET)) {
    refuse(
      'A rotation is in progress; a second one would invalidate the tokens of JWT_SECRET_PREVIOUS. Use --forget-previous-jwt-secret first, TOKEN_LIFETIME after the rotation',
      1,
    )
  }
  await write(keptPath(PREVIOUS_JWT_SECRET), current, 0o400)
  await write(keptPath(JWT_SECRET), generateSecret(64), 0o400)
  process.stdout.write('JWT_SECRET is new; the former one is JWT_SECRET_PREVIOUS.\n')
}

async function forgetPreviousJwtSecret(): Promise<void> {
  if (!(await find(PREVIOUS_JWT_SECRET))) refuse('JWT_SECRET_PREVIOUS does not exist', 1)
  await rm(keptPath(PREVIOUS_JWT_SECRET))
  process.stdout.write('JWT_SECRET_PREVIOUS is removed.\n')
}

/** Returns the secret of that name; generates it when it is missing. */
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
    // A secret that exists but cannot be read must not be replaced.
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return ''
    throw error
  }
}

function refuse(message: string, exitCode: number): never {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
}

/** Writes a file for one service, readable only by its user. */
function publish(name: string, text: string): Promise<void> {
  return write(join(ROOT, name), text, 0o400, NODE_USER)
}

async function write(path: string, text: string, mode: number, owner?: number): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  // Renamed when complete, so that a killed run leaves no partial file.
  const unfinished = `${path}.new`
  await writeFile(unfinished, text, { mode })
  if (owner !== undefined) await chown(unfinished, owner, owner)
  await rename(unfinished, path)
}
