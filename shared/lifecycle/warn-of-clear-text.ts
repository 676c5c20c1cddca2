import { isIP } from 'node:net'
import { hostsOf, withOneHost } from '../settings/setting.ts'
import { parseTls } from '../settings/tls-options.ts'
import { hasDemoUsers } from '../users/demo-users.ts'

interface ClearText {
  environment: string
  /** The addresses of servers, by the setting that has them. */
  urls: Readonly<Record<string, string>>
  logger: { warn(details: object, message: string): void }
}

/** Logs a warning for each server that staging or prod reaches over a network without TLS, or without verifying it. */
export function warnOfClearText({ environment, urls, logger }: ClearText): void {
  if (hasDemoUsers(environment)) return
  for (const [setting, url] of Object.entries(urls)) {
    const details = { setting, host: hostsOf(url) }
    if (isClearText(url))
      logger.warn(details, `${setting} has no TLS, so passwords and users' data cross the network in clear`)
    else if (modeOf(url) === 'require')
      logger.warn(details, `${setting} does not verify the server; write sslmode=verify-full`)
  }
}

/** True where the driver of `url` sends everything in clear, or may do so, to a server that is not beside this process. */
export function isClearText(url: string): boolean {
  const { protocol, hostname, username, searchParams } = new URL(withOneHost(url))
  if (!isRemote(hostname)) return false
  // With a user name, STARTTLS is required.
  if (protocol === 'smtp:') return username === '' && searchParams.get('requireTLS') !== 'true'
  return /^(postgres|mysql|mariadb|redis)/.test(protocol) && modeOf(url) === 'disable'
}

const modeOf = (url: string) => parseTls(new URL(withOneHost(url))).tls.mode

/** A name without a dot is of the private network of one host, or of the same namespace. */
const isRemote = (hostname: string): boolean =>
  (isIP(hostname.replaceAll(/[[\]]/g, '')) > 0 || hostname.includes('.')) &&
  !/^(127\.|\[::1\]$)|\.localhost$/.test(hostname)
