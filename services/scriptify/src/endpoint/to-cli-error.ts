import { CliError, EXIT, errorCode } from '../io/cli-error.ts'

interface FailedExchange {
  /** The origin of the URL only: its path and query may contain a token. */
  origin: string
  hasTimedOut: boolean
  timeoutMs: number
}

/** The reasons by the code, name or message of an error. */
const REASONS: [mark: RegExp, reason: string][] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ENOTFOUND|EAI_)/, 'the name of the host is not known'],
  [/^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/, 'the host is unreachable'],
  [/^(ECONNRESET|EPIPE|UND_ERR_SOCKET)$/, 'the connection was closed before the response was complete'],
  [/^(Z_|ERR_BROTLI|ERR__|ZSTD_|ERR_ZSTD)/, 'the body is not what its Content-Encoding says'],
  [/^UND_ERR_HEADERS_OVERFLOW$/, 'the headers of the response are too long'],
  [/^HTTPParserError$/, 'the response is not HTTP'],
  [/^UND_ERR_ABORTED$/, 'the proxy refused the request'],
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
  if (hasTimedOut)
    return new CliError(
      `No complete response from ${origin} within ${timeoutMs / 1000} s; --timeout sets another time`,
      EXIT.timeout,
    )
  const causes = causesOf(error)
  // An error of fetch has a cause, and any other is a bug in scriptify.
  if (causes.length === 0) return error
  const code = causes.map(errorCode).findLast((code) => typeof code === 'string')
  const suffix = code === undefined ? '' : ` (${code})`
  if (/^ETIMEDOUT$|^UND_ERR_.*_TIMEOUT$/.test(String(code)))
    return new CliError(`${origin}: the host does not answer${suffix}`, EXIT.timeout)
  // The fetch standard lists ports of other protocols, to which it never connects.
  if (causes.some(({ message }) => message === 'bad port'))
    return new CliError(
      `${origin}: fetch refuses port ${new URL(origin).port}, which belongs to another protocol; have the server listen on another port, or use curl`,
      EXIT.noResponse,
    )
  const marks = causes.flatMap((cause) => [String(errorCode(cause)), cause.name, cause.message])
  const reason = REASONS.find(([form]) => marks.some((mark) => form.test(mark)))?.[1] ?? 'no response arrived'
  return new CliError(`${origin}: ${reason}${suffix}`, EXIT.noResponse)
}

function causesOf(error: unknown): Error[] {
  const causes: Error[] = []
  for (let next = error; next instanceof Error && next.cause instanceof Error; next = next.cause)
    causes.push(next.cause)
  return causes
}
