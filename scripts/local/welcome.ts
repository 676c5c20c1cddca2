import { join, relative } from 'node:path'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'

const LOCAL = /^(?:127\.|localhost$|::1$)/
const ROOT = join(import.meta.dirname, '..', '..')

export interface Addresses {
  /** The settings, with the address of every service. */
  environment: Environment
  api: string
  /** False when MAIL_URL names another mail server. */
  hasInbox: boolean
  /** The file from which an admin's shell reads the environment; undefined when DATABASE_URL was given. */
  adminFile: string | undefined
}

/** What `npm start` prints once everything is ready: where each service is, without passwords of servers. */
export function describeAddresses(
  { environment, api, hasInbox, adminFile }: Addresses,
  milliseconds: number,
): string {
  // A browser cannot open the address that stands for all interfaces.
  const url = api.replace('//0.0.0.0:', '//localhost:')
  const users = DEMO_USERS.map(({ email, role }) => `${email} (${role})`).join(', ')
  const lines = [
    ['API', url],
    ['try it', `${url}/docs`],
    ['database', withoutPassword(environment.DATABASE_URL)],
    ['queue', withoutPassword(environment.QUEUE_URL)],
    [
      'mail',
      hasInbox
        ? `${environment.INBOX_URL} (every mail lands in this inbox)`
        : withoutPassword(environment.MAIL_URL),
    ],
    ...(hasDemoUsers(environment.APP_ENV) ? [['users', `${users}, password ${DEMO_PASSWORD}`]] : []),
    ...(adminFile ? [['admin', `. ${fromRoot(adminFile)} && npx scriptify run Users::list`]] : []),
  ]
  const missing = hasDemoUsers(environment.APP_ENV) ? [] : findMissing({ environment, hasInbox, adminFile })
  return `
Latchkey is ready after ${milliseconds} ms (environment ${environment.APP_ENV}).

${formatRows(lines)}
${missing.length > 0 ? `\nMissing for production (docs/how-to/run-on-one-host.md):\n\n${formatRows(missing)}\n` : ''}
Ctrl-C stops everything.
`
}

const formatRows = (rows: string[][]): string =>
  rows.map(([label = '', text]) => `  ${label.padEnd(14)}${text}`).join('\n')

/** What `npm start` provides for a trial and no one should run an installation with: each setting and why. */
function findMissing({ environment, hasInbox, adminFile }: Omit<Addresses, 'api'>): string[][] {
  const { HOST = '', API_SERVER = '' } = environment
  return [
    ...(adminFile
      ? [['DATABASE_URL', 'the embedded database has no backups and ends with this command']]
      : []),
    ...(hasInbox ? [['MAIL_URL', 'no mail leaves this machine']] : []),
    ...(LOCAL.test(HOST) ? [['HOST', `only this machine can connect to ${HOST}`]] : []),
    ...(API_SERVER.startsWith('http://')
      ? [['API_SERVER', 'clients need https, from a proxy in front of HOST and PORT']]
      : []),
  ]
}

function withoutPassword(url = ''): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

/** The path as it is written in the root of the repository. */
export const fromRoot = (path: string): string =>
  path.startsWith(join(ROOT, '/')) ? relative(ROOT, path) : path
