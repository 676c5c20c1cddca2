import { connect, isIP } from 'node:net'
import type { ConnectionOptions } from 'mysql2/promise'
import { isTlsOption, loadTls } from '../../settings/tls-options.ts'

/** Reads a URL as mysql2's options. */
export function readMysqlUrl(text: string): ConnectionOptions {
  const url = new URL(text)
  const options = [...url.searchParams].filter(([name]) => !isTlsOption(name))
  const host = decodeURIComponent(url.hostname).replaceAll(/[[\]]/g, '')
  const port = Number(url.port || 3306)
  const tls = loadTls(url)
  return {
    host,
    port,
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    ...Object.fromEntries(options.map(([name, value]) => [name, toValue(value)])),
    ...(tls && { ssl: { ...tls.given, ...tls.options, verifyIdentity: tls.mode === 'verify-full' } }),
    ...(tls && isIP(host) && { stream: () => connectToAddress(host, port) }),
  }
}

const toValue = (text: string): string | number | boolean => {
  if (/^\d+$/.test(text)) return Number(text)
  return text === 'true' || (text === 'false' ? false : text)
}

/**
 * mysql2 gives Node the name of a server to verify, and no IP address. Without one, Node takes `_host` of the socket, and
 * else `localhost`.
 */
const connectToAddress = (host: string, port: number) =>
  Object.assign(connect({ host, port, noDelay: true, keepAlive: true }), { _host: host })
