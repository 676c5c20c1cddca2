import { parseSettings, SettingsError } from '@latchkey/shared/settings/parse-settings.ts'
import { parseSenderAddress } from './sender-address.ts'

/** The service's own default: on one host auth-api listens on 9464. */
const METRICS_PORT = '9465'

const NAMES = [
  'APP_ENV',
  'HOST',
  'METRICS_PORT',
  'MAIL_SECRET',
  'DATABASE_URL',
  'QUEUE_URL',
  'MAIL_URL',
  'MAIL_FROM',
  'MAIL_CONCURRENCY',
  'MAIL_RATE',
  'OUTBOX_SWEEP',
  'DKIM_DOMAIN',
  'DKIM_SELECTOR',
  'DKIM_KEY',
  'LOG_LEVEL',
  'SHUTDOWN_GRACE',
] as const

export type Config = ReturnType<typeof parseConfig>

/** The settings of mailer-worker, grouped by who needs them; throws `SettingsError`. */
export function parseConfig(environment: Record<string, string | undefined>) {
  const given = { ...environment, METRICS_PORT: environment.METRICS_PORT || METRICS_PORT }
  const settings = parseSettings(NAMES, given)
  const queueUrl =
    settings.QUEUE_URL ?? (/^postgres/.test(settings.DATABASE_URL) ? settings.DATABASE_URL : undefined)
  const from = parseSenderAddress(settings.MAIL_FROM)
  const faults = [
    ...(queueUrl ? [] : ['QUEUE_URL is missing. For example: QUEUE_URL=redis://queue.example.com:6379']),
    ...(from
      ? []
      : ['MAIL_FROM must be one address. For example: MAIL_FROM=Latchkey <no-reply@example.com>']),
    ...findDkimFaults(settings),
  ]
  if (faults.length > 0 || !queueUrl || !from) throw new SettingsError(faults)
  return {
    environment: settings.APP_ENV,
    http: { host: settings.HOST, port: settings.METRICS_PORT },
    database: { url: settings.DATABASE_URL },
    queue: { url: queueUrl, concurrency: settings.MAIL_CONCURRENCY, ratePerSecond: settings.MAIL_RATE },
    outbox: { sweepSeconds: settings.OUTBOX_SWEEP },
    mail: {
      url: settings.MAIL_URL,
      secret: settings.MAIL_SECRET,
      from: settings.MAIL_FROM,
      domain: from.domain,
      dkim: toDkim(settings),
    },
    log: { level: settings.LOG_LEVEL },
    shutdown: { graceSeconds: settings.SHUTDOWN_GRACE },
  }
}

interface DkimSettings {
  DKIM_DOMAIN?: string | undefined
  DKIM_SELECTOR?: string | undefined
  DKIM_KEY?: string | undefined
}

function findDkimFaults(settings: DkimSettings): string[] {
  const names = ['DKIM_DOMAIN', 'DKIM_SELECTOR', 'DKIM_KEY'] as const
  const missing = names.filter((name) => !settings[name])
  if (missing.length === 0 || missing.length === names.length) return []
  return missing.map(
    (name) => `${name} is missing: mail is signed with all of ${names.join(', ')} or not at all.`,
  )
}

function toDkim({ DKIM_DOMAIN, DKIM_SELECTOR, DKIM_KEY }: DkimSettings) {
  if (!DKIM_DOMAIN || !DKIM_SELECTOR || !DKIM_KEY) return undefined
  return { domainName: DKIM_DOMAIN, keySelector: DKIM_SELECTOR, privateKey: DKIM_KEY }
}
