import { declareConfig } from '@latchkey/shared/settings/declare-config.ts'

/** The most connections that one worker has to the database. */
export const POOL_SIZE = 4

/** The settings of mailer-worker, grouped by what needs them; throws `SettingsError`. */
export const parseConfig = declareConfig('mailer-worker', {
  environment: 'APP_ENV',
  http: { host: 'HOST', port: 'METRICS_PORT' },
  database: { url: 'DATABASE_URL' },
  queue: { url: 'QUEUE_URL', concurrency: 'MAIL_CONCURRENCY', ratePerSecond: 'MAIL_RATE' },
  board: { token: 'BOARD_TOKEN' },
  outbox: { sweepSeconds: 'OUTBOX_SWEEP' },
  audit: { auditDays: 'AUDIT_DAYS' },
  mail: {
    url: 'MAIL_URL',
    secret: 'MAIL_SECRET',
    previousSecret: 'MAIL_SECRET_PREVIOUS',
    from: 'MAIL_FROM',
    brand: { product: 'PRODUCT_NAME', support: 'SUPPORT_ADDRESS', colour: 'MAIL_COLOUR' },
    dkim: { domainName: 'DKIM_DOMAIN', keySelector: 'DKIM_SELECTOR', privateKey: 'DKIM_KEY' },
  },
  log: { level: 'LOG_LEVEL' },
  shutdown: { graceSeconds: 'SHUTDOWN_GRACE' },
})

export type Config = ReturnType<typeof parseConfig>
