import { join } from 'node:path'
import { type Host, startHost } from './host.ts'
import type { Target } from './target.ts'

const ROOT = join(import.meta.dirname, '../../..')
const LATCHKEY = 'services/auth-api/src/main.ts'
/** The options of Node in the images. */
const IMAGE_OPTIONS = ['--max-semi-space-size=4']
/** The compile cache of `npm start`, by which only the first start loads the TypeScript compiler; peers have it too. */
const COMPILED_ONCE = { NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node') }
/** High enough that no limit is reached; each is counted as in production. */
const LIMIT = '1000000000'

/** The servers that are measured: Latchkey, its peer, and plain Fastify, on which both are built. */
export const HOSTS = {
  latchkey: { file: LATCHKEY, settings: { PASSWORD_HASH: 'argon2id' } },
  'latchkey, PASSWORD_HASH=sha1': { file: LATCHKEY, settings: { PASSWORD_HASH: 'sha1' } },
  'fastify + @fastify/jwt + pg': { file: 'scripts/bench/peers/fastify-jwt.ts', settings: {} },
  fastify: { file: 'scripts/bench/peers/fastify.ts', settings: {} },
} as const satisfies Record<string, { file: string; settings: Record<string, string> }>

export type HostName = keyof typeof HOSTS

export function startNamedHost(name: HostName, target: Target): Promise<Host> {
  const { file, settings } = HOSTS[name]
  return startHost(
    name,
    join(ROOT, file),
    { ...environmentOf(target), ...settings },
    file === LATCHKEY ? IMAGE_OPTIONS : [],
  )
}

/** A worker that sends as fast as it can. */
export function startWorker(target: Target, mailUrl: string): Promise<Host> {
  const environment = {
    ...environmentOf(target),
    MAIL_URL: mailUrl,
    MAIL_FROM: 'bench@example.com',
    MAIL_RATE: LIMIT,
    // Logged line by line, as in production.
    LOG_LEVEL: 'info',
  }
  return startHost('mailer-worker', join(ROOT, 'services/mailer-worker/src/main.ts'), environment, [
    ...IMAGE_OPTIONS,
    '--max-old-space-size=96',
  ])
}

/** The settings of production, but for limits that are never reached. */
const environmentOf = ({
  databaseUrl,
  queueUrl,
  jwtSecret,
  mailSecret,
  issuer,
}: Target): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  ...COMPILED_ONCE,
  NODE_ENV: 'production',
  APP_ENV: 'test',
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'warn',
  API_SERVER: issuer,
  JWT_SECRET: jwtSecret,
  MAIL_SECRET: mailSecret,
  DATABASE_URL: databaseUrl,
  QUEUE_URL: queueUrl,
  // Each token of a row may be refreshed at once.
  TOKEN_LIFETIME: '7200',
  REFRESH_WINDOW: '3600',
  RATE_LIMIT_REQUESTS: LIMIT,
  RATE_LIMIT_LOGIN: LIMIT,
  RATE_LIMIT_RESET: LIMIT,
  // The routes of the timing comparison.
  EMAIL_CHANGE: 'confirmed',
  SIGN_UP: 'on',
})
