import { z } from 'zod'
import { PASSWORD_SCHEMES } from '../passwords/schemes.ts'
import { isPublishedSecret } from '../secrets/published-secrets.ts'
import { decodeSecret } from '../secrets/secret.ts'

const seconds = (example: number) =>
  z.coerce.number('must be a whole number of seconds').int().positive().default(example)
const count = (example: number) =>
  z.coerce.number('must be a whole number').int().nonnegative().default(example)
const port = z.coerce.number('must be a port number').int().min(0).max(65_535)

/** A base64 secret of at least `minimumBytes`; its text never appears in a fault. */
const secret = (minimumBytes: number) =>
  z.string('is missing').transform((text, context) => {
    const { bytes, fault } = decodeSecret(text, minimumBytes)
    if (fault) context.addIssue({ code: 'custom', message: fault })
    return bytes
  })

const list = z
  .string()
  .default('')
  .transform((text) =>
    text
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )

/** What Fastify's `trustProxy` takes as a list; a network of all addresses would let anybody make one up. */
const proxy = z
  .union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6(), z.enum(['loopback', 'linklocal', 'uniquelocal'])])
  .refine((text) => !text.endsWith('/0'))

const url = (protocols: readonly string[]) =>
  z
    .string('is missing')
    .refine(
      (text) => URL.canParse(text) && protocols.includes(new URL(text).protocol.slice(0, -1)),
      `must be a URL that starts with ${protocols.map((name) => `${name}://`).join(' or ')}`,
    )

/**
 * Every setting of every Latchkey service, under its own name. A service picks those it uses with
 * `parseSettings`; nothing else in the code knows these names.
 */
export const Settings = z.object({
  APP_ENV: z
    .string()
    .regex(/^[a-z][a-z0-9-]*$/, 'must be lower-case letters, digits and dashes')
    .default('dev'),
  HOST: z.string().default('0.0.0.0'),
  PORT: port.default(8080),
  METRICS_PORT: port.default(9464),
  API_SERVER: z.string('is missing').min(1, 'must not be empty'),
  JWT_SECRET: secret(64),
  JWT_SECRET_PREVIOUS: secret(64).optional(),
  MAIL_SECRET: secret(32),
  TOKEN_LIFETIME: seconds(3600),
  REFRESH_WINDOW: seconds(300),
  LOGIN_FIELD: z.enum(['email', 'username'], 'must be email or username').default('email'),
  // The specification's default; every settings.env that ships says argon2id.
  PASSWORD_HASH: z
    .enum(
      Object.keys(PASSWORD_SCHEMES) as [string, ...string[]],
      `must be one of ${Object.keys(PASSWORD_SCHEMES).join(', ')}`,
    )
    .default('sha1'),
  MINIMUM_CHARS: count(12),
  REQUIRE_UPPERCASE: count(1),
  REQUIRE_LOWERCASE: count(1),
  REQUIRE_SYMBOLS: count(1),
  REQUIRE_NUMBERS: count(1),
  ALLOW_WHITESPACE: count(0),
  ALLOW_SEQUENTIAL: count(0),
  ALLOW_REPEATED: count(0),
  RESET_TTL: seconds(600),
  RESET_ATTEMPTS: z.coerce.number('must be a whole number').int().positive().default(5),
  REVOCATION_CACHE: count(5),
  HASH_CONCURRENCY: z.coerce.number('must be a whole number').int().positive().optional(),
  HASH_QUEUE: count(128),
  DATABASE_URL: url(['postgres', 'postgresql', 'mysql', 'mariadb']),
  DATABASE_POOL: z.coerce.number('must be a whole number').int().positive().default(10),
  QUEUE_URL: url(['redis', 'rediss', 'postgres', 'postgresql']).optional(),
  MAIL_URL: z.string('is missing').refine((text) => URL.canParse(text), 'must be a URL'),
  MAIL_FROM: z.string('is missing').min(3, 'must be an e-mail address'),
  MAIL_CONCURRENCY: z.coerce.number('must be a whole number').int().positive().default(8),
  MAIL_RATE: z.coerce.number('must be a whole number of mails a second').int().positive().default(50),
  OUTBOX_SWEEP: seconds(5),
  // All three or none; the key is a PEM private key, its line ends may be written \n.
  DKIM_DOMAIN: z.string().optional(),
  DKIM_SELECTOR: z.string().optional(),
  DKIM_KEY: z
    .string()
    .transform((text) => text.replaceAll('\\n', '\n'))
    .refine((text) => text.includes('PRIVATE KEY'), 'must be a private key as PEM')
    .optional(),
  CORS_ORIGINS: list,
  TRUST_PROXY: list.refine(
    (items) => items.every((item) => proxy.safeParse(item).success),
    'must be addresses or networks, separated by commas',
  ),
  RATE_LIMIT_LOGIN: count(10),
  RATE_LIMIT_RESET: count(5),
  RATE_LIMIT_REQUESTS: count(6000),
  LOG_LEVEL: z
    .enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], 'must be a pino level')
    .default('info'),
  SHUTDOWN_GRACE: seconds(10),
  SHUTDOWN_DELAY: count(0),
})

export type SettingName = keyof typeof Settings.shape

/** Shown with a fault, so that the reader sees what a good value looks like. */
const EXAMPLES: Partial<Record<SettingName, string>> = {
  API_SERVER: 'https://login.example.com',
  JWT_SECRET: 'the output of `npm run secret`',
  JWT_SECRET_PREVIOUS: 'the JWT_SECRET used until now',
  MAIL_SECRET: 'the output of `npm run secret 32`',
  DATABASE_URL: 'postgres://latchkey:password@db.example.com:5432/latchkey',
  QUEUE_URL: 'redis://queue.example.com:6379',
  MAIL_URL: 'smtps://user:password@smtp.example.com',
  MAIL_FROM: 'Latchkey <no-reply@example.com>',
  LOGIN_FIELD: 'email',
  PASSWORD_HASH: 'argon2id',
  APP_ENV: 'prod',
  LOG_LEVEL: 'info',
  TRUST_PROXY: '10.0.0.0/8',
  PORT: '8080',
  METRICS_PORT: '9464',
}

/** What is wrong with the settings: one line a fault, none of which holds a value. */
export class SettingsError extends Error {
  readonly faults: readonly string[]

  constructor(faults: readonly string[]) {
    super(`The settings cannot be used:\n${faults.map((fault) => `  ${fault}`).join('\n')}`)
    this.name = 'SettingsError'
    this.faults = faults
  }
}

/** sysexits.h EX_CONFIG: the exit code of a service that refuses its settings. */
export const EXIT_CONFIGURATION = 78

/**
 * Reads the named settings from `environment`, all faults at once; throws `SettingsError`.
 * An empty value counts as absent, since that is what `${NAME:-}` in a compose file gives.
 */
export function parseSettings<Name extends SettingName>(
  names: readonly Name[],
  environment: Record<string, string | undefined>,
): Pick<z.output<typeof Settings>, Name> {
  const mask = Object.fromEntries(names.map((name) => [name, true])) as { [Key in SettingName]?: true }
  const given = Object.fromEntries(
    Object.entries(environment).filter(([, value]) => value !== '' && value !== undefined),
  )
  const parsed = Settings.pick(mask).safeParse(given)
  const faults = parsed.success ? [] : parsed.error.issues.map((issue) => describeFault(issue))
  if (environment.APP_ENV === 'prod') faults.push(...findPublishedSecrets(names, given))
  if (!parsed.success || faults.length > 0) throw new SettingsError(faults)
  return parsed.data as Pick<z.output<typeof Settings>, Name>
}

function describeFault(issue: z.core.$ZodIssue): string {
  const name = String(issue.path[0]) as SettingName
  const isSecret = name.includes('SECRET')
  const remedy = isSecret ? ` Make one with \`npm run secret${name === 'MAIL_SECRET' ? ' 32' : ''}\`.` : ''
  const example = EXAMPLES[name] && !isSecret ? ` For example: ${name}=${EXAMPLES[name]}` : ''
  return `${name} ${issue.message}.${remedy}${example}`
}

function findPublishedSecrets(
  names: readonly SettingName[],
  given: Record<string, string | undefined>,
): string[] {
  return names
    .filter((name) => name.includes('SECRET') && isPublishedSecret(given[name] ?? ''))
    .map(
      (name) =>
        `${name} is published in Latchkey's own repository, so everybody knows it. Make one with \`npm run secret\`.`,
    )
}
