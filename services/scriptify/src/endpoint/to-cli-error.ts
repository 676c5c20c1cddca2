import { CliError, EXIT } from '../io/cli-error.ts'

interface FailedExchange {
  /** The origin of the URL only: its path and query may contain a token. */
  origin: string
  hasTimedOut: boolean
  timeoutMs: number
}

const REASONS: [code: RegExp, reason: string][] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ENOTFOUND|EAI_)/, 'the name of the host is not known'],
  [/^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/, 'the host is unreachable'],
  [
    /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/,
    'the connection was closed before the response was complete',
  ],
  [/^(Z_|ERR_BROTLI|ERR__|ZSTD_|ERR_ZSTD)/, 'the body is not what its Content-Encoding says'],
  [/^HPE_HEADER_OVERFLOW$/, 'the headers of the response are too long'],
  [/^HPE_/, 'the response is not HTTP'],
  [/^ERR_PROXY_/, 'the proxy refused the request'],
  [/^ERR_TLS_CERT_ALTNAME/, 'the certificate is for another host'],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has expired'],
  [
    /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/,
    'the certificate is not trusted; NODE_EXTRA_CA_CERTS can name a file of additional authorities',
  ],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'the TLS handshake failed'],
]

/**
 * Turns the error of a failed exchange into one of a line; returns a bug in scriptify as it is. The message of the error may
 * contain what was sent, so it is not used.
 */
export function toCliError(error: unknown, { origin, hasTimedOut, timeoutMs }: FailedExchange): unknown {
  if (error instanceof CliError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (hasTimedOut)
    return new CliError(
      `No complete response from ${origin} within ${timeoutMs / 1000} s; --timeout sets another time`,
      EXIT.timeout,
    )
  if (code === 'ETIMEDOUT') return new CliError(`${origin}: the host does not answer (${code})`, EXIT.timeout)
  // An error without a code is a bug in scriptify.
  if (code === undefined) return error
  const reason = REASONS.find(([form]) => form.test(code))?.[1] ?? 'no response arrived'
  return new CliError(`${origin}: ${reason} (${code})`, EXIT.noResponse)
}
