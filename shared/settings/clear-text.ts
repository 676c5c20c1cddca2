import { isIP } from 'node:net'
import { withOneHost } from './setting.ts'
import { parseTls, type TlsMode } from './tls-options.ts'

/** True where the driver of `url` sends everything in clear, or may do so, to a server that is not beside this process. */
export function isClearText(url: string): boolean {
  const { protocol, hostname, username, searchParams } = new URL(withOneHost(url))
  if (!isRemote(hostname)) return false
  // With a user name, STARTTLS is required.
  if (protocol === 'smtp:') return username === '' && searchParams.get('requireTLS') !== 'true'
  return /^(postgres|mysql|mariadb|redis)/.test(protocol) && tlsModeOf(url) === 'disable'
}

export const tlsModeOf = (url: string): TlsMode => parseTls(new URL(withOneHost(url))).tls.mode

/** A name without a dot is of the private network of one host, or of the same namespace. */
const isRemote = (hostname: string): boolean =>
  (isIP(hostname.replaceAll(/[[\]]/g, '')) > 0 || hostname.includes('.')) &&
  !/^(127\.|\[::1\]$)|\.localhost$/.test(hostname)
