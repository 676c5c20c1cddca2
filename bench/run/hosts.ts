import { join } from 'node:path'
import { type Host, remoteHost, startHost } from './host.ts'
import type { Target } from './target.ts'

const ROOT = join(import.meta.dirname, '../..')
const LATCHKEY = 'services/auth-api/src/main.ts'
/** As in the images. */
const IMAGE_OPTIONS = ['--max-semi-space-size=4']
/** As `npm start` does: no start but the first loads the TypeScript compiler. A peer starts in the same way. */
const COMPILED_ONCE = { NODE_COMPILE_CACHE: join(ROOT, 'node_modules/.cache/node') }
/** High enough that no limit is reached; each is counted as in production. */
const LIMIT = '1000000000'

/** What is measured: Latchkey, its peer, and the limits of what they are made of. */
export const HOSTS = {
  latchkey: { file: LATCHKEY, settings: { PASSWORD_HASH: 'argon2id' } },
  'latchkey, PASSWORD_HASH=sha1': { file: LATCHKEY, settings: { PASSWORD_HASH: 'sha1' } },
  'fastify + @fastify/jwt + pg': { file: 'bench/peers/fastify-jwt.ts', settings: {} },
  'fastify + jose, remembered': { file: 'bench/peers/fastify.ts', settings: { REMEMBER: '1' } },
  fastify: { file: 'bench/peers/fastify.ts', settings: {} },
  'node:http': { file: 'bench/peers/node-http.ts', settings: {} },
} as const satisfies Record<string, { file: string; settings: Record<string, string> }>

export type HostName = keyof typeof HOSTS

/** Latchkey is the one at `BENCH_URL`, where that is set; what it is made of and its peers run here. */
export async function startNamedHost(
  name: HostName,
  target: Target,
  databaseUrl = target.databaseUrl,
): Promise<Host> {
  const { BENCH_URL } = process.env
  if (BENCH_URL && name === 'latchkey') return remoteHost(name, BENCH_URL)
  const { file, settings } = HOSTS[name]
  const environment = { ...environmentOf(target), DATABASE_URL: databaseUrl, ...settings }
  return startHost(
    name,
    join(ROOT, file),
    { ...COMPILED_ONCE, ...environment },
    file === LATCHKEY ? IMAGE_OPTIONS : [],
  )
}

export interface Hosts extends AsyncDisposable {
  /** Starts the host unless it runs. */
  get(name: HostName): Promise<Host>
}

/** The hosts that have been needed so far, until they are disposed of. */
export function openHosts(target: Target): Hosts {
  const hosts = new Map<HostName, Promise<Host>>()
  return {
    get(name) {
      const host = hosts.get(name) ?? startNamedHost(name, target)
      hosts.set(name, host)
      return host
    },
    async [Symbol.asyncDispose]() {
      for (const host of hosts.values()) await (await host)[Symbol.asyncDispose]()
    },
  }
}

/** A worker that sends as fast as it can. */
export function startWorker(target: Target, mailUrl: string): Promise<Host> {
  const environment = {
    ...COMPILED_ONCE,
    ...environmentOf(target),
    DATABASE_URL: target.databaseUrl,
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

const environmentOf = ({ queueUrl, jwtSecret, mailSecret, issuer }: Target): NodeJS.ProcessEnv => ({
  PATH: process.env.PATH,
  ...(process.env.NODE_COMPILE_CACHE ? { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE } : {}),
  NODE_ENV: 'production',
  APP_ENV: 'test',
  HOST: '127.0.0.1',
  PORT: '0',
  METRICS_PORT: '0',
  LOG_LEVEL: 'warn',
  API_SERVER: issuer,
  JWT_SECRET: jwtSecret,
  MAIL_SECRET: mailSecret,
  QUEUE_URL: queueUrl,
  // Each token of a row may be refreshed at once.
  REFRESH_WINDOW: '3600',
  RATE_LIMIT_REQUESTS: LIMIT,
  RATE_LIMIT_LOGIN: LIMIT,
  RATE_LIMIT_RESET: LIMIT,
})
