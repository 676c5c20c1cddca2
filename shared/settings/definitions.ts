import { availableParallelism } from 'node:os'
import type { z } from 'zod'
import { DATABASE_PROTOCOLS } from '../database/dialects.ts'
import { postgres } from '../database/postgres/dialect.ts'
import { ACCEPTED_BY_DEFAULT, SCHEME_NAMES } from '../passwords/password-scheme.ts'
import { findRedisFault, REDIS_PROTOCOLS } from '../redis/redis-url.ts'
import { hasDemoUsers } from '../users/demo-users.ts'
import { emailAddress } from '../users/email-address.ts'
import { INTERNAL_PROPERTY_PREFIX, MAX_LENGTH } from '../users/user.ts'
import {
  findCorsFault,
  findDatabaseFault,
  findIssuerFault,
  findLinkFault,
  findPasskeyOriginsFault,
  findProxyFault,
  findSenderFault,
  isHttpUrl,
  isPasskeyDomain,
  isPasskeyPage,
} from './addresses.ts'
import type { Fault } from './fault.ts'
import { privateKey, privateKeyFile } from './private-key-setting.ts'
import { PROVIDER_NAME } from './provider-name.ts'
import {
  checked,
  type DerivedDefault,
  type Environment,
  list,
  matchingText,
  oneOf,
  onOrOff,
  optional,
  port,
  previousSecret,
  seconds,
  secret,
  setting,
  TEXT,
  text,
  url,
  wholeNumber,
} from './setting.ts'

/** `setTimeout` fires at once above 2^31 ms, which is 24.8 days. */
const LONGEST_TIMER_SECONDS = 1_000_000

const QUEUE_PROTOCOLS = [...REDIS_PROTOCOLS, ...postgres.protocols]

const DEFAULT_PORT = 8080

const ON_IN_DEV: DerivedDefault = {
  text: '`on` in dev and test, elsewhere `off`',
  derive: ({ APP_ENV }) => (hasDemoUsers(APP_ENV) ? 'on' : 'off'),
}

/** The port for health and metrics; both services can run on one host. */
const METRICS_PORTS: Readonly<Record<string, string>> = { 'auth-api': '9464', 'mailer-worker': '9465' }

/** Every setting of Latchkey, by its name. Nothing else in the code defines a name, a default or a range. */
export const SETTINGS = {
  // Environment
  APP_ENV: matchingText(/^[a-z][a-z0-9-]*$/, {
    rule: 'lower-case letters, digits and dashes',
    description: 'Environment: the folder below `config/`.',
    default: 'dev',
    example: 'prod',
  }),
  CREDENTIALS_FILE: optional(
    text({
      description: 'Path of a further file of settings.',
      example: '/run/secrets/credentials.env',
    }),
  ),
  DATA_DIR: text({
    description: 'Folder for the embedded databases of `npm start`.',
    default: '.data',
  }),

  // HTTP
  HOST: text({ description: 'Address on which the service listens.', default: '0.0.0.0' }),
  PORT: port({ description: 'Port of the API; 0 chooses a free one.', default: DEFAULT_PORT }),
  METRICS_PORT: port({
    description:
      'Port of `/metrics`, and in mailer-worker of `/health` and `/queue` too; 0 chooses a free one.',
    default: {
      text: '9464; mailer-worker: 9465',
      derive: (_, service = 'auth-api') => METRICS_PORTS[service],
    },
    example: '9464',
  }),
  CORS_ORIGINS: list(findCorsFault, {
    description: 'Origins whose pages may call the API.',
    example: 'https://app.example.com,https://admin.example.com',
  }),
  TRUST_PROXY: list(findProxyFault, {
    description:
      'Proxies whose `X-Forwarded-For` counts: addresses, networks, `loopback`, `linklocal` or `uniquelocal`.',
    example: '10.0.0.0/8',
  }),

  DOCS_PAGE: onOrOff({ description: 'Shows the API at `/docs`.', default: ON_IN_DEV }),
  ACCOUNT_PAGES: onOrOff({ description: 'Serves the account pages at `/account/`.', default: ON_IN_DEV }),
  MAIL_LINK_URL: optional(
    url(['http', 'https'], {
      findFault: findLinkFault,
      description: 'Page that the links of mails open, with the code after a `#`.',
      default: {
        text: 'the account pages, where they are on and `API_SERVER` is a URL; else mails have no link',
        derive: accountPagesOf,
      },
      example: 'https://app.example.com/account',
    }),
  ),

  // Tokens
  API_SERVER: setting(checked(TEXT, findIssuerFault), {
    description: 'Issuer (`iss`) of the tokens; if a URL, also the server in the OpenAPI document.',
    default: {
      text: '`http://localhost:<PORT>` in dev and test; elsewhere **required**',
      derive: localServer,
    },
    example: 'https://login.example.com',
  }),
  JWT_ALGORITHM: oneOf(['HS512', 'EdDSA', 'ES256', 'RS256'], {
    description:
      'Algorithm that signs tokens: HS512 with `JWT_SECRET`; EdDSA, ES256 or RS256 with a private key.',
    default: 'HS512',
    example: 'EdDSA',
  }),
  JWT_SECRET: optional(
    secret(64, {
      description: 'Key that signs tokens with HS512, and verifies them while it is set.',
      default: { text: '**required** with HS512', derive: () => undefined },
    }),
  ),
  JWT_SECRET_PREVIOUS: previousSecret(
    64,
    'JWT_SECRET',
    'Key that still verifies tokens during a rotation and signs none.',
  ),
  JWT_PRIVATE_KEY: optional(
    privateKey('Private key that signs tokens: Ed25519 for EdDSA, P-256 for ES256, RSA for RS256.'),
  ),
  JWT_PRIVATE_KEY_FILE: optional(
    privateKeyFile(
      'Path of a file with the private key that signs tokens, in place of `JWT_PRIVATE_KEY`; must not be readable by every user of the system.',
    ),
  ),
  JWT_PRIVATE_KEY_NEXT: optional(
    privateKey('Key that will sign later: its public key is published, and its tokens are accepted.'),
  ),
  JWT_PRIVATE_KEY_NEXT_FILE: optional(
    privateKeyFile('Path of a file with the key that will sign later, in place of `JWT_PRIVATE_KEY_NEXT`.'),
  ),
  JWT_PRIVATE_KEY_PREVIOUS: optional(
    privateKey('Key that signed before: its public key is published, and its tokens are accepted.'),
  ),
  JWT_PRIVATE_KEY_PREVIOUS_FILE: optional(
    privateKeyFile('Path of a file with the key that signed before, in place of `JWT_PRIVATE_KEY_PREVIOUS`.'),
  ),
  TOKEN_LIFETIME: seconds({ description: 'Lifetime of an access token.', minimum: 2, default: 3600 }),
  REFRESH_WINDOW: seconds({
    description: 'Time before its expiry in which a token can be refreshed; less than `TOKEN_LIFETIME`.',
    minimum: 1,
    default: 300,
  }),
  SESSION_IDLE: seconds({
    description: 'Time without a refresh after which a session with a refresh token ends.',
    minimum: 60,
    default: 2_592_000,
  }),
  SESSION_LIFETIME: seconds({
    description:
      'Time after a login in which its tokens can be refreshed, however they are used; 0 sets no limit.',
    default: 7_776_000,
  }),
  REVOCATION_CACHE: seconds({
    description: 'Time until a revoked token is refused; 0 asks the database on each request.',
    default: 5,
  }),

  // Passwords
  LOGIN_FIELD: oneOf(['email', 'username'], {
    description: 'The value of the field `username` of a login: `email` or `username`.',
    default: 'email',
  }),
  LOGIN_BY_MAIL: onOrOff({
    description: 'Lets users log in by a code that is mailed, in place of the password.',
    default: 'off',
  }),
  // The specification's default; each settings.env that ships sets argon2id.
  PASSWORD_HASH: oneOf(SCHEME_NAMES, {
    description: 'Scheme of new password hashes: `sha1`, `argon2id`, `bcrypt` or `argon2i`.',
    default: 'sha1',
    example: 'argon2id',
  }),
  PASSWORD_HASH_ACCEPTED: list(findSchemeFault, {
    description:
      'Schemes of stored hashes that verify beside `PASSWORD_HASH`; each adds its time to every refused login.',
    default: ACCEPTED_BY_DEFAULT.join(','),
  }),
  PASSWORD_HASH_SHARED: list(findSchemeFault, {
    description:
      'Schemes that another system on the same database can verify; `PASSWORD_HASH` must be one of them.',
    example: 'sha1',
  }),
  HASH_CONCURRENCY: wholeNumber({
    description:
      'Passwords hashed at the same time. Above the number of cores + 3 it needs a greater `UV_THREADPOOL_SIZE` in the environment of the process.',
    minimum: 1,
    default: { text: 'the number of cores', derive: () => String(availableParallelism()) },
    example: '4',
  }),
  HASH_QUEUE: wholeNumber({
    description: 'Calls that may wait for a hash; one more gets 503.',
    unit: 'calls',
    default: 128,
  }),
  MINIMUM_CHARS: wholeNumber({
    description: 'Shortest password.',
    unit: 'characters',
    default: 12,
  }),
  REQUIRE_UPPERCASE: wholeNumber({
    description: 'Least number of upper-case letters in a password.',
    default: 1,
  }),
  REQUIRE_LOWERCASE: wholeNumber({
    description: 'Least number of lower-case letters in a password.',
    default: 1,
  }),
  REQUIRE_SYMBOLS: wholeNumber({
    description: 'Least number of symbols in a password.',
    default: 1,
  }),
  REQUIRE_NUMBERS: wholeNumber({
    description: 'Least number of digits in a password.',
    default: 1,
  }),
  ALLOW_WHITESPACE: wholeNumber({
    description: 'Allows white space in a password (1), or refuses it (0).',
    default: 0,
  }),
  ALLOW_SEQUENTIAL: wholeNumber({
    description: 'Allows sequences such as `abc` or `321` in a password (1), or refuses them (0).',
    default: 0,
  }),
  ALLOW_REPEATED: wholeNumber({
    description: 'Allows repetitions such as `aaa` or `ababab` in a password (1), or refuses them (0).',
    default: 0,
  }),

  // Codes
  RESET_TTL: seconds({
    description:
      'Lifetime of a password reset, a login by mail, a change of e-mail or a sign-up, and its code.',
    minimum: 1,
    default: 600,
  }),
  RESET_ATTEMPTS: wholeNumber({
    description:
      'Codes that can be tried for a reset, a login by mail, a change of e-mail or a sign-up before it closes.',
    minimum: 1,
    default: 5,
  }),

  // Second factor
  SECOND_FACTOR: onOrOff({
    description: 'Lets users add a second factor. Needs `FACTOR_SECRET`.',
    default: {
      text: '`on` in dev and test where `FACTOR_SECRET` is set, elsewhere `off`',
      derive: ({ APP_ENV, FACTOR_SECRET }) => (hasDemoUsers(APP_ENV) && FACTOR_SECRET ? 'on' : 'off'),
    },
  }),
  SECOND_FACTOR_ROLES: list(findRoleNamesFault, {
    description: 'Roles that need a second factor for every route.',
    example: 'admin',
  }),
  FACTOR_SECRET: optional(
    secret(32, {
      description: 'Key that seals the secrets of second factors and signs the challenges of a login.',
    }),
  ),
  FACTOR_SECRET_PREVIOUS: previousSecret(
    32,
    'FACTOR_SECRET',
    'Key that still opens secrets of second factors during a rotation and seals none.',
  ),

  PASSKEY_ORIGINS: list(findPasskeyOriginsFault, {
    description: 'Origins of the pages with passkeys. Needs `SECOND_FACTOR=on`.',
    default: {
      text: 'the origin of `API_SERVER`, if that is https:// or localhost; else none',
      derive: (environment) => passkeyPageOf(environment)?.origin ?? '',
    },
    example: 'https://app.example.com',
  }),
  PASSKEY_RP_ID: optional(
    setting(TEXT.refine(isPasskeyDomain, 'must be a domain in lower case, without a scheme and a port'), {
      description:
        'Domain of the passkeys: that of `PASSKEY_ORIGINS`, or one above it. Users lose their passkeys when it changes.',
      default: {
        text: 'the host of the first of `PASSKEY_ORIGINS`',
        derive: ({ PASSKEY_ORIGINS: origins, ...environment }) =>
          (origins ? URL.parse(origins.split(',', 1)[0] ?? '') : passkeyPageOf(environment))?.hostname,
      },
      example: 'example.com',
    }),
  ),

  // Profile
  PROFILE_PROPERTIES: list(findPropertyNamesFault, {
    description: 'Properties of a user that `/profile` shows; `*` shows all but internal ones.',
    default: 'picture',
    example: 'picture,department',
  }),
  // The specification's behaviour; each settings.env that ships sets confirmed.
  EMAIL_CHANGE: oneOf(['immediate', 'confirmed'], {
    description:
      'How `PUT /profile` changes the e-mail: `immediate`, or `confirmed` by the current password and a code to the new address.',
    default: 'immediate',
    example: 'confirmed',
  }),
  ACCOUNT_DELETION: oneOf(['on', 'off', 'erase'], {
    description:
      'Lets users delete their account by `POST /profile/delete`: `on` keeps the data unless the request says `erase`, `erase` erases it unless the request says otherwise.',
    default: 'off',
    example: 'erase',
  }),
  ERASURE_DAYS: wholeNumber({
    description:
      'Time after a deletion with `erase` until the data is erased, and can no longer be restored.',
    unit: 'days',
    minimum: 0,
    maximum: 3_650,
    default: 30,
  }),

  // Sign-up
  SIGN_UP: onOrOff({
    description: 'Lets anybody create an account by `POST /signup`.',
    default: 'off',
  }),
  SIGN_UP_DOMAINS: list(findDomainsFault, {
    description: 'Domains of the e-mails that may sign up; empty for any.',
    example: 'example.com,example.org',
  }),

  // Identity providers
  OIDC_PROVIDERS: list(findProviderNamesFault, {
    description:
      'Names of the OpenID providers with which users can log in; each has settings `OIDC_<NAME>_…` of its own.',
    example: 'google,work',
  }),

  // Database
  DATABASE_URL: url(DATABASE_PROTOCOLS, {
    findFault: findDatabaseFault,
    description: 'Address of the database: PostgreSQL, MySQL or MariaDB.',
    example: 'postgres://latchkey:password@db.example.com:5432/latchkey',
  }),
  AUTH_API_DATABASE_URL: optional(
    url(DATABASE_PROTOCOLS, {
      findFault: findDatabaseFault,
      description: 'Address of the database for auth-api, to whose login a migration gives its rights.',
      example: 'postgres://latchkey_auth_api:password@db.example.com:5432/latchkey',
    }),
  ),
  MAILER_WORKER_DATABASE_URL: optional(
    url(DATABASE_PROTOCOLS, {
      findFault: findDatabaseFault,
      description: 'Address of the database for mailer-worker, to whose login a migration gives its rights.',
      example: 'postgres://latchkey_mailer_worker:password@db.example.com:5432/latchkey',
    }),
  ),
  DATABASE_POOL: wholeNumber({
    description: 'Most connections to the database.',
    unit: 'connections',
    minimum: 1,
    default: 10,
  }),

  // Mail
  QUEUE_URL: url(QUEUE_PROTOCOLS, {
    description: 'Address of the mail queue: Redis, Valkey or PostgreSQL.',
    findFault: (given) => findRedisFault(given) ?? findDatabaseFault(given),
    default: {
      text: '`DATABASE_URL` where that is PostgreSQL',
      derive: ({ DATABASE_URL = '' }) =>
        postgres.protocols.includes(DATABASE_URL.split(':', 1)[0] ?? '') ? DATABASE_URL : undefined,
    },
    missing: 'is missing, and only PostgreSQL can keep the queue in DATABASE_URL',
    example: 'redis://queue.example.com:6379',
  }),
  MAIL_SECRET: secret(32, { description: 'Key that seals the variables of a queued mail.' }),
  MAIL_SECRET_PREVIOUS: previousSecret(
    32,
    'MAIL_SECRET',
    'Key that still opens queued mail during a rotation and seals none.',
  ),
  MAIL_URL: url([], {
    description: 'The way in which mail is sent, chosen by the scheme.',
    example: 'smtps://user:password@smtp.example.com',
  }),
  MAIL_FROM: setting(checked(TEXT, findSenderFault), {
    description: 'Sender address of the mails.',
    example: 'Latchkey <no-reply@example.com>',
  }),
  PRODUCT_NAME: setting(
    TEXT.refine(
      (given) => /^\P{Cc}{1,50}$/u.test(given) && given.trim() !== '',
      'must be a name of at most 50 characters in one line',
    ),
    {
      description: 'Name of your product in the mails and on the account pages.',
      default: 'Latchkey',
      example: 'Example',
    },
  ),
  SUPPORT_ADDRESS: optional(
    setting(
      TEXT.refine((given) => emailAddress().safeParse(given).success, 'must be one e-mail address'),
      {
        description: 'Address for help in the mails and on the account pages.',
        example: 'support@example.com',
      },
    ),
  ),
  MAIL_COLOUR: matchingText(/^#[0-9a-fA-F]{6}$/, {
    rule: 'a colour, as #rrggbb',
    description:
      'Colour of the mails and the account pages; quote it in a file of settings, where `#` begins a comment.',
    default: '#3b5bdb',
  }),
  NOTICE_ROLES_CHANGED: onOrOff({
    description: 'Sends a user a mail when an admin changes their role.',
    default: 'on',
  }),
  NOTICE_NEW_CLIENT: onOrOff({
    description: 'Sends a user a mail about a login from a new client, at most one an hour.',
    default: 'off',
  }),
  NOTICE_FAILED_LOGINS: onOrOff({
    description:
      'Sends a user a mail about many refused logins, and about several second factors that were refused after the right password, at most one of each a day.',
    default: 'on',
  }),
  INBOX_URL: optional(
    url(['http', 'https'], {
      description: 'Page of the mail inbox, linked by `GET /` in dev and test.',
      example: 'http://localhost:1080',
    }),
  ),
  MAIL_CONCURRENCY: wholeNumber({
    description: 'Mails that one mailer-worker sends at the same time.',
    unit: 'mails',
    minimum: 1,
    default: 8,
  }),
  BOARD_TOKEN: optional(
    setting(TEXT.min(24, 'must have at least 24 characters'), {
      description:
        'Password of the page `/queue`, for any user name. Without it the page is open in dev and test, and absent elsewhere.',
      remedy: 'Generate one with `npm run secret 32`, or leave it empty.',
      unit: 'at least 24 characters',
      isSecret: true,
    }),
  ),
  MAIL_RATE: wholeNumber({
    description: 'Most mails that all mailer-workers together send.',
    unit: 'mails per second',
    minimum: 1,
    default: 50,
  }),
  OUTBOX_SWEEP: seconds({
    description: 'Time between two searches for mail that the queue never received or lost.',
    minimum: 1,
    maximum: LONGEST_TIMER_SECONDS,
    default: 5,
  }),
  DKIM_DOMAIN: optional(text({ description: 'Domain of the DKIM signature.', example: 'example.com' })),
  DKIM_SELECTOR: optional(text({ description: 'Selector of the DKIM signature.', example: 'mail2026' })),
  DKIM_KEY: optional(
    setting(
      TEXT.transform((given) => given.replaceAll('\\n', '\n')).refine(
        (given) => given.includes('PRIVATE KEY'),
        'must be a private key in PEM format',
      ),
      {
        description: 'Private key of the DKIM signature, in PEM.',
        remedy: 'Give the whole file, from `-----BEGIN PRIVATE KEY-----` on.',
        isSecret: true,
      },
    ),
  ),

  // Limits
  RATE_LIMIT_REQUESTS: wholeNumber({
    description: 'Most requests from one address; 0 sets no limit.',
    unit: 'requests per minute',
    default: 6000,
  }),
  RATE_LIMIT_LOGIN: wholeNumber({
    description:
      'Most failed logins, wrong current passwords, wrong codes, refused second factors and refused changes of e-mail, per account and per address; 0 sets no limit.',
    unit: 'failures per minute',
    default: 10,
  }),
  RATE_LIMIT_RESET: wholeNumber({
    description:
      'Most reset requests, changes of e-mail and sign-ups, per account and hour, and per address and minute; 0 sets no limit.',
    unit: 'requests',
    default: 5,
  }),

  // Operation
  LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'], {
    description: 'Least level that is logged; `debug` logs each request.',
    default: 'info',
  }),
  AUDIT_DAYS: wholeNumber({
    description: 'The time for which the table `audit_event` keeps an event.',
    unit: 'days',
    minimum: 1,
    maximum: 36_500,
    default: 90,
  }),
  SHUTDOWN_DELAY: seconds({
    description: 'Time after SIGTERM in which auth-api takes requests and `/health/ready` answers 503.',
    maximum: LONGEST_TIMER_SECONDS,
    default: 0,
  }),
  SHUTDOWN_GRACE: seconds({
    description:
      'Time after SIGTERM, and in auth-api after `SHUTDOWN_DELAY`, to complete requests and mails in progress.',
    minimum: 1,
    maximum: LONGEST_TIMER_SECONDS,
    default: 10,
  }),
}

export type SettingName = keyof typeof SETTINGS
export type SettingValue<Name extends SettingName> = z.output<(typeof SETTINGS)[Name]['schema']>
export type Settings<Name extends SettingName = SettingName> = { [Key in Name]: SettingValue<Key> }

function findProviderNamesFault(names: readonly string[]): Fault | undefined {
  const twice = names.find((name, index) => names.indexOf(name) < index)
  if (twice !== undefined)
    return { message: `names ${twice} twice`, remedy: 'Give each provider a name of its own.' }
  return names.every((name) => PROVIDER_NAME.test(name))
    ? undefined
    : { message: 'must be names of at most 20 lower-case letters, digits and dashes, separated by commas' }
}

function findDomainsFault(domains: readonly string[]): Fault | undefined {
  return domains.every((domain) => emailAddress().safeParse(`a@${domain}`).success)
    ? undefined
    : { message: 'must be domains, without an @, separated by commas' }
}

function findPropertyNamesFault(names: readonly string[]): Fault | undefined {
  if (names.some((name) => name.startsWith(INTERNAL_PROPERTY_PREFIX)))
    return { message: `must not name internal properties, which begin with ${INTERNAL_PROPERTY_PREFIX}` }
  return findNamesFault('names', names, MAX_LENGTH.propertyName)
}

function findRoleNamesFault(names: readonly string[]): Fault | undefined {
  return findNamesFault('roles', names, MAX_LENGTH.role)
}

/** A name that no row can have is a mistake, such as a path or a JSON array. */
function findNamesFault(kind: string, names: readonly string[], maximum: number): Fault | undefined {
  return names.some((name) => [...name].length > maximum || /[\p{Cc}[\]{}"']/u.test(name))
    ? { message: `must be ${kind} of at most ${maximum} characters, separated by commas` }
    : undefined
}

/** The page on which passkeys are used unless PASSKEY_ORIGINS names others: browsers have none elsewhere. */
function passkeyPageOf(environment: Environment): URL | undefined {
  const page = URL.parse(environment.API_SERVER || localServer(environment) || '')
  return page && isPasskeyPage(page) ? page : undefined
}

/** The address of the account pages, where there are some and an address is known. */
function accountPagesOf(environment: Environment): string | undefined {
  const { ACCOUNT_PAGES: mode = ON_IN_DEV.derive(environment, undefined), API_SERVER: given } = environment
  const server = given || localServer(environment) || ''
  return mode === 'on' && isHttpUrl(server) ? `${server.replace(/\/$/, '')}/account/` : undefined
}

/** The address at which `npm start` serves the API. Elsewhere only the operator knows the address. */
function localServer({ APP_ENV, PORT = String(DEFAULT_PORT) }: Environment): string | undefined {
  if (!hasDemoUsers(APP_ENV)) return undefined
  const server = `http://localhost:${PORT}`
  // A port that the system chooses is not known yet; one that is not a number is reported as PORT.
  return PORT !== '0' && URL.canParse(server) ? server : 'http://localhost'
}

function findSchemeFault(names: readonly string[]): Fault | undefined {
  const known: readonly string[] = SCHEME_NAMES
  if (names.every((name) => known.includes(name))) return undefined
  return { message: `must be some of ${known.join(', ')}, separated by commas` }
}
