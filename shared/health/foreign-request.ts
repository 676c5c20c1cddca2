import type { IncomingHttpHeaders } from 'node:http'
import { isIP } from 'node:net'

/**
 * True where a web page of another origin may have sent a request to a page for developers: by its Origin, or by a host name
 * that its DNS points to this machine (DNS rebinding). An IP address and `localhost` are no such names.
 * `scripts/local/refuse-foreign.cjs` does the same for MailDev.
 */
export function isForeign({ host = '', origin }: Pick<IncomingHttpHeaders, 'host' | 'origin'>): boolean {
  const name = host.replace(/:\d+$/, '')
  const isOwn = isIP(name.replace(/^\[(.*)\]$/, '$1')) > 0 || /^([\w-]+\.)*localhost$/i.test(name)
  return !isOwn || (origin !== undefined && origin !== `http://${host}`)
}
