import { type PasswordPolicy, POLICY_SETTINGS } from '@latchkey/shared/passwords/password-policy.ts'
import { parseSettings, SettingsError } from '@latchkey/shared/settings/parse-settings.ts'

const NAMES = [
  'APP_ENV',
  'HOST',
  'PORT',
  'METRICS_PORT',
  'API_SERVER',
  'JWT_SECRET',
  'JWT_SECRET_PREVIOUS',
  'TOKEN_LIFETIME',
  'REFRESH_WINDOW',
  'REVOCATION_CACHE',
  'LOGIN_FIELD',
  'PASSWORD_HASH',
  'HASH_CONCURRENCY',
  'HASH_QUEUE',
  ...POLICY_SETTINGS,
  'RESET_TTL',
  'RESET_ATTEMPTS',
  'MAIL_SECRET',
  'QUEUE_URL',
  'DATABASE_URL',
  'DATABASE_POOL',
  'CORS_ORIGINS',
  'TRUST_PROXY',
  'RATE_LIMIT_REQUESTS',
  'RATE_LIMIT_LOGIN',
  'RATE_LIMIT_RESET',
  'LOG_LEVEL',
  'SHUTDOWN_GRACE',
  'SHUTDOWN_DELAY',
] as const

export type Config = ReturnType<typeof parseConfig>

/** The settings of auth-api, grouped by who needs them; throws `SettingsError`. */
export function parseConfig(environment: Record<string, string | undefined>) {
  const settings = parseSettings(NAMES, environment)
  return {
    environment: settings.APP_ENV,
    http: {
      host: settings.HOST,
      port: settings.PORT,
      metricsPort: settings.METRICS_PORT,
      corsOrigins: settings.CORS_ORIGINS,
      trustedProxies: settings.TRUST_PROXY,
      publicUrl: settings.API_SERVER,
    },
    limits: {
      requestsPerMinute: settings.RATE_LIMIT_REQUESTS,
      failedLoginsPerMinute: settings.RATE_LIMIT_LOGIN,
      waitingLogins: settings.HASH_QUEUE,
      resetRequests: settings.RATE_LIMIT_RESET,
    },
    shutdown: { graceSeconds: settings.SHUTDOWN_GRACE, delaySeconds: settings.SHUTDOWN_DELAY },
    tokens: {
      issuer: settings.API_SERVER,
      secret: settings.JWT_SECRET,
      previousSecret: settings.JWT_SECRET_PREVIOUS,
      lifetimeSeconds: settings.TOKEN_LIFETIME,
      refreshWindowSeconds: settings.REFRESH_WINDOW,
      revocationCacheSeconds: settings.REVOCATION_CACHE,
    },
    login: { field: settings.LOGIN_FIELD },
    passwords: {
      scheme: settings.PASSWORD_HASH,
      concurrency: settings.HASH_CONCURRENCY,
      queueLimit: settings.HASH_QUEUE,
    },
    policy: Object.fromEntries(POLICY_SETTINGS.map((name) => [name, settings[name]])) as PasswordPolicy,
    reset: { ttlSeconds: settings.RESET_TTL, attempts: settings.RESET_ATTEMPTS },
    mail: { secret: settings.MAIL_SECRET, queueUrl: queueUrlOf(settings) },
    database: { url: settings.DATABASE_URL, poolSize: settings.DATABASE_POOL },
    log: { level: settings.LOG_LEVEL },
  }
}

/** The queue is kept in the database where that is PostgreSQL, unless a setting says otherwise. */
function queueUrlOf({
  QUEUE_URL,
  DATABASE_URL,
}: {
  QUEUE_URL?: string | undefined
  DATABASE_URL: string
}): string {
  if (QUEUE_URL) return QUEUE_URL
  if (/^postgres(ql)?:/.test(DATABASE_URL)) return DATABASE_URL
  throw new SettingsError([
    'QUEUE_URL is missing, and only PostgreSQL can keep the queue in DATABASE_URL. For example: QUEUE_URL=redis://queue.example.com:6379',
  ])
}
