import { allOrNone, declareConfig, derived } from '@latchkey/shared/settings/declare-config.ts'

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
    from: 'MAIL_FROM',
    domain: derived('MAIL_FROM', (from) => parseSenderAddress(from)?.domain, {
      message: 'must be one address',
    }),
    brand: { product: 'PRODUCT_NAME', support: 'SUPPORT_ADDRESS', colour: 'MAIL_COLOUR' },
    dkim: allOrNone({ domainName: 'DKIM_DOMAIN', keySelector: 'DKIM_SELECTOR', privateKey: 'DKIM_KEY' }),
  },
  log: { level: 'LOG_LEVEL' },
  shutdown: { graceSeconds: 'SHUTDOWN_GRACE' },
})

export type Config = ReturnType<typeof parseConfig>

const ADDRESS = String.raw`[^\s@<>"(),;\\]+@([^\s@<>"(),;\\]+)`
/** RFC 5322: an address, or one in angle brackets after a display name, which may be quoted. */
const MAILBOX = new RegExp(
  `^\\s*(?:${ADDRESS}|(?:"(?:[^"\\\\]|\\\\.)*"|[^<>"(),;@\\\\]*)\\s*<${ADDRESS}>)\\s*$`,
)

/** The domain of the one address that `text` holds, with or without a display name. */
export function parseSenderAddress(text: string): { domain: string } | undefined {
  if (/\p{Cc}/u.test(text)) return undefined
  const [, bare, bracketed] = MAILBOX.exec(text) ?? []
  const domain = bare ?? bracketed
  return domain === undefined ? undefined : { domain }
}
