import { CliError } from '../cli-error.ts'
import { ENDPOINT_EXIT } from './endpoint-exit.ts'

interface Circumstances {
  /** Not the whole URL: its path and query may hold a token. */
  origin: string
  isLate: boolean
  timeoutMs: number
}

const REASONS: [code: RegExp, reason: string][] = [
  [/^ECONNREFUSED$/, 'the connection was refused'],
  [/^(ENOTFOUND|EAI_)/, 'the name of the host is not known'],
  [/^(ENETUNREACH|EHOSTUNREACH|EADDRNOTAVAIL)$/, 'there is no way to the host'],
  [
    /^(ECONNRESET|EPIPE|ERR_STREAM_PREMATURE_CLOSE)$/,
    'the connection was closed before the answer was whole',
  ],
  [/^HPE_HEADER_OVERFLOW$/, 'the headers of the answer are too long'],
  [/^HPE_/, 'the answer is not HTTP'],
  [/^ERR_PROXY_/, 'the proxy did not let the request through'],
  [/^ERR_TLS_CERT_ALTNAME/, 'the certificate is for another host'],
  [/^CERT_HAS_EXPIRED$/, 'the certificate has expired'],
  [
    /^(CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_|HOSTNAME_)/,
    'the certificate is not trusted; NODE_EXTRA_CA_CERTS can name a file of further authorities',
  ],
  [/^(EPROTO|ERR_SSL_|ERR_TLS_)/, 'no TLS connection came about'],
]

/** Makes one line of what kept an answer from coming. An error's own message may hold what was sent: it is not used. */
export function describeFault(error: unknown, { origin, isLate, timeoutMs }: Circumstances): unknown {
  if (error instanceof CliError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : undefined
  if (isLate || code === 'ETIMEDOUT')
    return new CliError(`No whole answer from ${origin} within ${timeoutMs / 1000} s`, ENDPOINT_EXIT.timeout)
  // Without a code it is a defect of ours.
  if (code === undefined) return error
  const reason = REASONS.find(([form]) => form.test(code))?.[1] ?? 'no answer came'
  return new CliError(`${origin}: ${reason} (${code})`, ENDPOINT_EXIT.noAnswer)
}
