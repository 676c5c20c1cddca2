import { isIP } from 'node:net'
import { hostsOf, withOneHost } from '../settings/setting.ts'
import { hasDemoUsers } from '../users/demo-users.ts'

interface ClearText {
  environment: string
  /** The addresses of servers, by the setting that has them. */
  urls: Readonly<Record<string, string>>
  logger: { warn(details: object, message: string): void }
}

/** Logs a warning for each server that staging or prod reaches over a network without TLS. */
export function warnOfClearText({ environment, urls, logger }: ClearText): void {
  if (hasDemoUsers(environment)) return
  for (const [setting, url] of Object.entries(urls))
    if (isClearText(url))
      logger.warn(
        { setting, host: hostsOf(url) },
        `${setting} has no TLS, so passwords and users' data cross the network in clear`,
      )
}

/** Whether the driver of `url` sends everything in clear, or may do so, to a server that is not beside this process. */
export function isClearText(url: string): boolean {
  const { protocol, hostname, username, searchParams } = new URL(withOneHost(url))
  if (!isRemote(hostname)) return false
  switch (protocol) {
    case 'postgres:':
    case 'postgresql:': {
      const mode =
        searchParams.get('sslmode') ?? (searchParams.has('sslrootcert') ? 'verify-full' : 'disable')
      return mode === 'disable' && !['true', '1'].includes(searchParams.get('ssl') ?? '')
    }
    case 'mysql:':
    case 'mariadb:':
      return !searchParams.has('ssl')
    case 'redis:':
    case 'redis-sentinel:':
    case 'redis-cluster:':
      return true
    case 'smtp:':
      // With a user name, STARTTLS is required.
      return username === '' && searchParams.get('requireTLS') !== 'true'
    default:
      return false
  }
}

/** A name without a dot is of the private network of one host, or of the same namespace. */
const isRemote = (hostname: string): boolean =>
  (isIP(hostname.replaceAll(/[[\]]/g, '')) > 0 || hostname.includes('.')) &&
  !/^(127\.|\[::1\]$)|\.localhost$/.test(hostname)
