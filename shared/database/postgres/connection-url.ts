import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import { isTlsOption, loadTls } from '../../settings/tls-options.ts'

/**
 * Reads a URL as pg's options. Each one is given that pg would otherwise take from a variable of the shell, except a user, a
 * password and a database that the URL does not name: PGUSER, PGPASSWORD, PGPASSFILE and PGDATABASE are for these.
 */
export function readPostgresUrl(text: string) {
  const url = new URL(text)
  const options = [...url.searchParams].filter(([name]) => !isTlsOption(name) && name !== 'options')
  const connection = {
    host: decodeURIComponent(url.hostname).replaceAll(/[[\]]/g, ''),
    port: Number(url.port || 5432),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database: decodeURIComponent(url.pathname.slice(1)),
    ...Object.fromEntries(options),
  }
  const tls = loadTls(url)
  // Given the host: Node would verify an IP address as `localhost`.
  const verify = tls?.mode === 'verify-full' ? checkServerIdentity : () => undefined
  return {
    ...connection,
    ssl: tls
      ? {
          ...tls.options,
          checkServerIdentity: (_: string, certificate: PeerCertificate) =>
            verify(connection.host, certificate),
        }
      : false,
    sslnegotiation: 'postgres' as const,
  }
}
