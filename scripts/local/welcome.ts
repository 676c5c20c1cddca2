import { join, relative } from 'node:path'
import { findSetting } from '@latchkey/shared/settings/parse-settings.ts'
import { type Environment, hostsOf, withOneHost } from '@latchkey/shared/settings/setting.ts'
import { DEMO_PASSWORD, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { User } from '@latchkey/shared/users/user.ts'

const LOCAL = /^(?:127\.|localhost$|::1$)/
const ROOT = join(import.meta.dirname, '..', '..')

export interface Addresses {
  /** The settings as they were given, and with the address of every service. */
  given: Environment
  environment: Environment
  api: string
  /** The file from which an admin's shell reads the environment. */
  adminFile: string
  /** The accounts with the published password. */
  published: readonly User[]
}

/** The text that `npm start` prints once everything is ready: the address of each service, without passwords. */
export function describeAddresses(
  { given, environment, api, adminFile, published }: Addresses,
  milliseconds: number,
): string {
  // The issuer of the tokens, unless API_SERVER says otherwise. A browser cannot open the address of all interfaces.
  const url = api.replace(/\/\/(0\.0\.0\.0|127\.0\.0\.1):/, '//localhost:')
  const isOn = (page: 'DOCS_PAGE' | 'ACCOUNT_PAGES') => findSetting(page, environment) === 'on'
  const lines = [
    ['API', url],
    ...(isOn('DOCS_PAGE') ? [['try it', `${url}/docs`]] : []),
    ...(isOn('ACCOUNT_PAGES') ? [['account', `${url}/account/`]] : []),
    ['database', withoutPassword(environment.DATABASE_URL)],
    ['queue', withoutPassword(environment.QUEUE_URL)],
    [
      'mail',
      given.MAIL_URL
        ? withoutPassword(given.MAIL_URL)
        : `${environment.INBOX_URL} (every mail lands in this inbox)`,
    ],
    ...(hasDemoUsers(environment.APP_ENV) ? [['users', describeUsers(published)]] : []),
    ['admin', `. ${fromRoot(adminFile)} && npx scriptify run Queue::status`],
  ]
  const missing = hasDemoUsers(environment.APP_ENV) ? [] : findMissing(given, environment)
  return `
Latchkey is ready after ${milliseconds} ms (environment ${environment.APP_ENV}).

${formatRows(lines)}
${missing.length > 0 ? `\nMissing for production (docs/how-to/run-on-one-host.md):\n\n${formatRows(missing)}\n` : ''}
Ctrl-C stops everything.
`
}

function describeUsers(published: readonly User[]): string {
  if (published.length === 0) return 'those of the database: demo users are added only where there are none'
  return `${published.map(({ email, role }) => `${email} (${role})`).join(', ')}, password ${DEMO_PASSWORD}`
}

const formatRows = (rows: string[][]): string =>
  rows.map(([label = '', text]) => `  ${label.padEnd(14)}${text}`).join('\n')

/** The settings that are good enough for a trial only, each with the reason. */
function findMissing(given: Environment, { HOST = '', API_SERVER = '' }: Environment): string[][] {
  return [
    ...(given.DATABASE_URL
      ? []
      : [['DATABASE_URL', 'the embedded database has no backups and ends with this command']]),
    ...(LOCAL.test(HOST) ? [['HOST', `only this machine can connect to ${HOST}`]] : []),
    ...(API_SERVER.startsWith('http://')
      ? [['API_SERVER', 'clients need https, from a proxy in front of HOST and PORT']]
      : []),
  ]
}

function withoutPassword(url = ''): string {
  const { protocol, pathname } = new URL(withOneHost(url))
  return `${protocol}//${hostsOf(url)}${pathname}`
}

/** The path as it is written in the root of the repository. */
export const fromRoot = (path: string): string =>
  path.startsWith(join(ROOT, '/')) ? relative(ROOT, path) : path
