import { declareConfig } from '@latchkey/shared/settings/declare-config.ts'

/** The settings of auth-api, grouped by what needs them; throws `SettingsError`. */
export const parseConfig = declareConfig('auth-api', {
  environment: 'APP_ENV',
  http: {
    host: 'HOST',
    port: 'PORT',
    metricsPort: 'METRICS_PORT',
    corsOrigins: 'CORS_ORIGINS',
    trustedProxies: 'TRUST_PROXY',
    publicUrl: 'API_SERVER',
    docsPage: 'DOCS_PAGE',
  },
  limits: {
    requestsPerMinute: 'RATE_LIMIT_REQUESTS',
    failedLoginsPerMinute: 'RATE_LIMIT_LOGIN',
    waitingLogins: 'HASH_QUEUE',
    resetRequests: 'RATE_LIMIT_RESET',
  },
  shutdown: { graceSeconds: 'SHUTDOWN_GRACE', delaySeconds: 'SHUTDOWN_DELAY' },
  tokens: {
    issuer: 'API_SERVER',
    algorithm: 'JWT_ALGORITHM',
    secret: 'JWT_SECRET',
    previousSecret: 'JWT_SECRET_PREVIOUS',
    key: 'JWT_PRIVATE_KEY',
    keyFile: 'JWT_PRIVATE_KEY_FILE',
    nextKey: 'JWT_PRIVATE_KEY_NEXT',
    nextKeyFile: 'JWT_PRIVATE_KEY_NEXT_FILE',
    previousKey: 'JWT_PRIVATE_KEY_PREVIOUS',
    previousKeyFile: 'JWT_PRIVATE_KEY_PREVIOUS_FILE',
    lifetimeSeconds: 'TOKEN_LIFETIME',
    refreshWindowSeconds: 'REFRESH_WINDOW',
    sessionLifetimeSeconds: 'SESSION_LIFETIME',
    revocationCacheSeconds: 'REVOCATION_CACHE',
  },
  login: { field: 'LOGIN_FIELD' },
  passwords: {
    scheme: 'PASSWORD_HASH',
    accepted: 'PASSWORD_HASH_ACCEPTED',
    shared: 'PASSWORD_HASH_SHARED',
    concurrency: 'HASH_CONCURRENCY',
    queueLimit: 'HASH_QUEUE',
  },
  policy: {
    MINIMUM_CHARS: 'MINIMUM_CHARS',
    REQUIRE_UPPERCASE: 'REQUIRE_UPPERCASE',
    REQUIRE_LOWERCASE: 'REQUIRE_LOWERCASE',
    REQUIRE_SYMBOLS: 'REQUIRE_SYMBOLS',
    REQUIRE_NUMBERS: 'REQUIRE_NUMBERS',
    ALLOW_WHITESPACE: 'ALLOW_WHITESPACE',
    ALLOW_SEQUENTIAL: 'ALLOW_SEQUENTIAL',
    ALLOW_REPEATED: 'ALLOW_REPEATED',
  },
  profile: {
    properties: 'PROFILE_PROPERTIES',
    emailChange: 'EMAIL_CHANGE',
    deletion: 'ACCOUNT_DELETION',
  },
  reset: { ttlSeconds: 'RESET_TTL', attempts: 'RESET_ATTEMPTS' },
  signUp: { isOpen: 'SIGN_UP', domains: 'SIGN_UP_DOMAINS' },
  notices: { failedLogins: 'NOTICE_FAILED_LOGINS' },
  mail: { secret: 'MAIL_SECRET', queueUrl: 'QUEUE_URL', inboxUrl: 'INBOX_URL' },
  database: { url: 'DATABASE_URL', poolSize: 'DATABASE_POOL' },
  log: { level: 'LOG_LEVEL' },
})

export type Config = ReturnType<typeof parseConfig>
