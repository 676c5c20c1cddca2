import { text } from 'node:stream/consumers'
import { parseArgs } from 'node:util'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import {
  generatePrivateKey,
  KEY_KINDS,
  type KeyKind,
  KIND_OF,
  parsePrivateKey,
  type SignatureAlgorithm,
} from '@latchkey/shared/secrets/private-key.ts'
import { generateSecret } from '@latchkey/shared/secrets/secret.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { databaseUrl, type Engine, generateLogin, OWNERS, queueUrl } from './deployed-secrets.ts'
import { createKeptSecrets, readFileOrNone, writeFileWhole } from './kept-secrets.ts'

/*
 * The one-shot service of docker-compose.yml that generates the secrets of the services; the one before it generates the
 * passwords of the servers. Each service mounts its own folder, so that mailer-worker never sees JWT_SECRET. Existing secrets
 * are kept: a second `docker compose up` logs no user out and still opens the database.
 */
const USAGE = `Usage: docker compose run --rm secrets-postgres node scripts/release/compose-secrets.ts [option]

Generates missing secrets. With the MySQL profile the service is secrets-mysql.

  --change-database   switch the services from MySQL to PostgreSQL, or back; no data is copied
  --help              show this help

deploy/rotate-secret.sh uses these, and restarts the services:

  --introduce <name>  generate the next secret, which is accepted but not used yet; exit code 3 between --switch and --forget
  --switch <name>     use the next secret; the former one is still accepted
  --forget <name>     end the former secret
  --abandon <name>    end the next and the former secret; the one in use stays
  --kind <kind>       kind of a new jwt-key: ed25519, es256 or rs256; by default that of the key in use
  --mail-url          keep the MAIL_URL that is read from standard input

<name> is jwt-secret, jwt-key, mail-secret, factor-secret, database-password or redis-password.
`

/** The files of each secret that is replaced as one, and how a new one is generated. */
const ROTATED: Record<string, Record<string, () => string>> = {
  'jwt-secret': { jwt_secret: () => generateSecret(64) },
  // In one line, as in a file of settings.
  'jwt-key': { jwt_key: () => generatePrivateKey(kindOfKey()).trim().replaceAll('\n', '\\n') },
  'mail-secret': { mail_secret: () => generateSecret(32) },
  'factor-secret': { factor_secret: () => generateSecret(32) },
  'redis-password': { redis_password: () => generateSecret(24) },
  'database-password': {
    database_password: () => generateSecret(24),
    auth_api_login: () => generateLogin('auth_api'),
    mailer_worker_login: () => generateLogin('mailer_worker'),
  },
}
const EXIT_SWITCHED = 3
const ROOT = '/secrets'
/** The user `node` of the image. */
const NODE_USER = 1000
const ENVIRONMENT = 'environment'
const MAIL_URL = 'mail_url'
/** The address to which mail goes in dev. */
const INBOX = 'smtp://maildev:1025'

const options = readArguments()
const environment = process.env.APP_ENV
if (!environment) throw new Error('APP_ENV is missing')
const engine = process.env.DATABASE_ENGINE
if (engine !== 'postgres' && engine !== 'mysql') throw new Error('DATABASE_ENGINE must be postgres or mysql')

const kept = createKeptSecrets(`${ROOT}/kept`)
await requireSameEnvironment(environment)
if (!options['change-database']) await requireSameDatabase(engine)
await kept.write(ENVIRONMENT, environment)
/** The private key that signs tokens; empty while JWT_SECRET signs them. "--forget jwt-key" ends JWT_SECRET. */
const currentKey = await kept.find('jwt_key')
await requireRotatableKey()
const created = Object.entries(ROTATED).filter(([name]) => name !== (currentKey ? 'jwt-secret' : 'jwt-key'))
for (const [name, generate] of created.flatMap(([, files]) => Object.entries(files)))
  await kept.keep(name, generate)
const isIntroduced = await rotate()
if (options['mail-url']) await kept.write(MAIL_URL, await readMailUrl())
await publish(environment, engine)
if (!isIntroduced) process.exit(EXIT_SWITCHED)

/** Runs the requested steps of a rotation; returns false if the secret to introduce was switched before. */
async function rotate(): Promise<boolean> {
  const { abandon = '', introduce = '', switch: switched = '', forget = '' } = options
  for (const name of Object.keys(ROTATED[abandon] ?? {})) await kept.abandon(name)
  const introduced = Object.entries(ROTATED[introduce] ?? {})
  // A killed step may have switched some of the files only.
  for (const [name] of introduced) if (await kept.isSwitched(name)) return false
  for (const [name, generate] of introduced) await kept.introduce(name, generate)
  for (const name of Object.keys(ROTATED[switched] ?? {})) await kept.switchTo(name)
  for (const name of Object.keys(ROTATED[forget] ?? {})) await kept.forget(name)
  if (forget === 'jwt-key' && currentKey) await kept.end('jwt_secret')
  return true
}

async function requireRotatableKey(): Promise<void> {
  if (currentKey && options.introduce === 'jwt-secret' && !(await kept.find('jwt_secret')))
    refuse('Tokens are signed with a key, and JWT_SECRET has ended; replace the key: jwt-key', 1)
  if (!currentKey && options.switch === 'jwt-key' && !(await kept.find('next_jwt_key')))
    refuse('The next key does not exist; generate it first: deploy/rotate-secret.sh jwt-key', 1)
}

async function publish(environment: string, engine: Engine): Promise<void> {
  const { find, findNewest, findOther } = kept
  // A service that is started for another environment refuses these secrets.
  const shared = { APP_ENV: environment, QUEUE_URL: queueUrl(await find('redis_password')) }
  const MAIL_SECRET = await find('mail_secret')
  const ofApi = {
    ...shared,
    MAIL_SECRET,
    FACTOR_SECRET: await find('factor_secret'),
    FACTOR_SECRET_PREVIOUS: await findOther('factor_secret'),
    DATABASE_URL: databaseUrl(engine, await find('auth_api_login')),
  }
  const key = await find('jwt_key')
  await publishTo('auth-api', {
    ...ofApi,
    JWT_ALGORITHM: key ? algorithmOf(key) : '',
    JWT_PRIVATE_KEY: key,
    JWT_PRIVATE_KEY_NEXT: await find('next_jwt_key'),
    JWT_PRIVATE_KEY_PREVIOUS: await find('previous_jwt_key'),
    JWT_SECRET: await find('jwt_secret'),
    JWT_SECRET_PREVIOUS: await findOther('jwt_secret'),
  })
  // It gets no key of tokens: an admin's class signs no token.
  await publishTo('scriptify', ofApi)
  await publishTo('mailer-worker', {
    ...shared,
    MAIL_SECRET,
    MAIL_SECRET_PREVIOUS: await findOther('mail_secret'),
    DATABASE_URL: databaseUrl(engine, await find('mailer_worker_login')),
    // Where none is given, mailer-worker says what is missing.
    MAIL_URL: (await find(MAIL_URL)) || (hasDemoUsers(environment) ? INBOX : ''),
  })
  await publishTo('migrate', {
    ...shared,
    DATABASE_URL: databaseUrl(engine, `${OWNERS[engine]}:${await findNewest('database_password')}`),
    AUTH_API_DATABASE_URL: databaseUrl(engine, await findNewest('auth_api_login')),
    MAILER_WORKER_DATABASE_URL: databaseUrl(engine, await findNewest('mailer_worker_login')),
  })
}

/** The kind that was asked for, else that of the current key. */
function kindOfKey(): KeyKind {
  const kind = KEY_KINDS.find((known) => known === options.kind)
  return kind ?? (currentKey ? KIND_OF[algorithmOf(currentKey)] : 'ed25519')
}

function algorithmOf(key: string): SignatureAlgorithm {
  const parsed = parsePrivateKey(key)
  if ('message' in parsed) throw new Error(`The kept key ${parsed.message}`)
  return parsed.algorithm
}

/** Writes the settings of one service, readable only by its user; those without a value are left out. */
function publishTo(service: string, settings: Record<string, string>): Promise<void> {
  const lines = Object.entries(settings).flatMap(([name, value]) => (value ? [`${name}=${value}\n`] : []))
  return writeFileWhole(`${ROOT}/${service}/credentials.env`, lines.join(''), NODE_USER)
}

async function readMailUrl(): Promise<string> {
  const url = (await text(process.stdin)).trim()
  // A # would begin a comment in the file that the service reads.
  if (!URL.canParse(url) || /[#'"\s]/.test(url))
    refuse('Standard input must be one URL, for example smtps://user:password@smtp.example.com', 2)
  return url
}

function readArguments() {
  try {
    const { values } = parseArgs({
      options: {
        introduce: { type: 'string' },
        switch: { type: 'string' },
        forget: { type: 'string' },
        abandon: { type: 'string' },
        kind: { type: 'string' },
        'mail-url': { type: 'boolean' },
        'change-database': { type: 'boolean' },
        help: { type: 'boolean' },
      },
    })
    if (values.help) {
      process.stdout.write(USAGE)
      process.exit(0)
    }
    const unknown = [values.introduce, values.switch, values.forget, values.abandon].find(
      (name) => name && !ROTATED[name],
    )
    if (unknown) refuse(`The secret ${unknown} does not exist, only ${Object.keys(ROTATED).join(', ')}`, 2)
    if (values.kind !== undefined && !KEY_KINDS.some((known) => known === values.kind))
      refuse(`The kind of key ${values.kind} does not exist; use one of ${KEY_KINDS.join(', ')}`, 2)
    return values
  } catch (error) {
    return refuse(errorMessage(error), 2)
  }
}

/**
 * Secrets and tables outlast their containers. In another environment the demo users would be added to them, and mail would
 * go elsewhere.
 */
async function requireSameEnvironment(wanted: string): Promise<void> {
  const current = (await kept.find(ENVIRONMENT)) || wanted
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
async function requireSameDatabase(wanted: string): Promise<void> {
  const published = await readFileOrNone(`${ROOT}/auth-api/credentials.env`)
  const current = /^DATABASE_URL=(\w+):/m.exec(published)?.[1] ?? wanted
  if (current === wanted) return
  refuse(
    `The services use ${current}, and this command is for ${wanted}. Set COMPOSE_PROFILES=${current} in the environment or in .env, or switch with --change-database, which copies no data`,
    1,
  )
}

function refuse(message: string, exitCode: number): never {
  process.stderr.write(`${message}\n`)
  process.exit(exitCode)
}
