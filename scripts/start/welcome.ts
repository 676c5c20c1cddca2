import { join, relative } from 'node:path'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { DEMO_PASSWORD, DEMO_USERS, hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'

const ROOT = join(import.meta.dirname, '..', '..')

export interface Addresses {
  /** With the address of every part. */
  environment: Environment
  api: string
  /** Undefined when MAIL_URL names another mail server. */
  inbox: string | undefined
  /** The file from which an admin's shell reads the environment; undefined when DATABASE_URL was given. */
  adminFile: string | undefined
}

/** What `npm start` prints once everything is ready: where each part is, without passwords of servers. */
export function describeAddresses(
  { environment, api, inbox, adminFile }: Addresses,
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
    ['mail', inbox ? `${inbox} (every mail lands in this inbox)` : withoutPassword(environment.MAIL_URL)],
    ...(hasDemoUsers(environment.APP_ENV) ? [['users', `${users}, password ${DEMO_PASSWORD}`]] : []),
    ...(adminFile ? [['admin', `. ${fromRoot(adminFile)} && npx scriptify run Users::list`]] : []),
  ]
  return `
Latchkey is ready after ${milliseconds} ms (environment ${environment.APP_ENV}).

${lines.map(([label = '', text]) => `  ${label.padEnd(11)}${text}`).join('\n')}

Ctrl-C stops everything.
`
}

function withoutPassword(url = ''): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname}`
}

const fromRoot = (path: string): string => (path.startsWith(join(ROOT, '/')) ? relative(ROOT, path) : path)
