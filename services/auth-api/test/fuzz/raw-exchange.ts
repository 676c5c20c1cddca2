import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import fc from 'fast-check'

/** A response as its bytes say. */
export interface RawResponse {
  status: number
  headers: Headers
  body: string
}

const LONGEST_MS = 10_000

/** Sends bytes on a connection of their own, and reads every response until the server closes it; throws after 10 s. */
export async function exchangeRaw(port: number, bytes: Buffer): Promise<RawResponse[]> {
  const socket = connect({ port, host: '127.0.0.1' })
  // A server that refuses closes its side while the client may still send.
  socket.on('error', () => undefined)
  socket.end(bytes)
  const over = new AbortController()
  const hang = wait(LONGEST_MS, undefined, { signal: over.signal }).then(() => {
    socket.destroy()
    throw new Error(
      `No end of the connection within ${LONGEST_MS} ms: ${JSON.stringify(bytes.toString('latin1'))}`,
    )
  })
  const received = buffer(socket).catch(() => Buffer.alloc(0))
  try {
    return readResponses(await Promise.race([received, hang]))
  } finally {
    over.abort()
    await hang.catch(() => undefined)
  }
}

/** Splits a stream of responses by their Content-Length; throws for bytes that are no response. */
function readResponses(bytes: Buffer): RawResponse[] {
  const responses: RawResponse[] = []
  for (let rest = bytes; rest.length > 0; ) {
    const end = rest.indexOf('\r\n\r\n')
    const [statusLine = '', ...fields] = rest.subarray(0, end).toString('latin1').split('\r\n')
    const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1])
    if (end === -1 || Number.isNaN(status))
      throw new Error(`Not a response: ${JSON.stringify(rest.toString('latin1'))}`)
    const headers = new Headers(
      fields.map((field) => [field.slice(0, field.indexOf(':')), field.slice(field.indexOf(':') + 1)]),
    )
    const length = Number(headers.get('content-length') ?? 0)
    const body = rest.subarray(end + 4, end + 4 + length)
    if (body.length < length) throw new Error(`Cut short: ${JSON.stringify(rest.toString('latin1'))}`)
    if (status >= 200) responses.push({ status, headers, body: body.toString() })
    rest = rest.subarray(end + 4 + length)
  }
  return responses
}

const REQUEST_LINES = [
  ...['GET /health/live HTTP/1.1', 'POST /login HTTP/1.1', 'GET /profile HTTP/1.0', 'PUT /profile HTTP/1.1'],
  ...[
    'GET /health/live HTTP/9.9',
    'get / HTTP/1.1',
    'GET  / HTTP/1.1',
    'GET / HTTP/1.1 x',
    'GET /\u0000 HTTP/1.1',
    'PRI * HTTP/2.0',
  ],
  ...['CONNECT a:1 HTTP/1.1', 'GET http://a/login HTTP/1.1', 'OPTIONS * HTTP/1.1', '\u0016\u0003\u0001', ''],
]
const HEADERS = [
  ...['Host: a', 'Host: a', 'Host: a', 'Host: b', 'Host:', 'Content-Type: application/json'],
  ...[
    'Content-Length: 2',
    'Content-Length: 2',
    'Content-Length: 0',
    'Content-Length: 3',
    'Content-Length: -1',
    'Content-Length: 2, 2',
  ],
  ...[
    'Content-Length: +2',
    'Content-Length: 0x2',
    'Content-Length: 99999999999999999999',
    'Content-Length : 2',
  ],
  ...[
    'Transfer-Encoding: chunked',
    'Transfer-Encoding: Chunked',
    'Transfer-Encoding: gzip, chunked',
    'Transfer-Encoding: identity',
  ],
  ...[
    'Transfer-Encoding: chunked, chunked',
    'Transfer-Encoding:\u000bchunked',
    ' folded',
    '\tfolded',
    'no colon',
    ': no name',
  ],
  ...[
    'Expect: 100-continue',
    'Connection: close',
    'Connection: keep-alive, Upgrade',
    'Upgrade: h2c',
    'Trailer: Host',
    'X: \u0000',
  ],
  ...[`X: ${'x'.repeat(17_000)}`, `Authorization: Bearer ${'x.'.repeat(3)}`],
]
const BODIES = [
  ...[
    '',
    '{}',
    '2\r\n{}\r\n0\r\n\r\n',
    '0\r\n\r\n',
    '2;a=b\r\n{}\r\n0\r\n\r\n',
    '2\n{}\n0\n\n',
    'g\r\n{}',
    '-2\r\n{}',
    '0\r\nHost: b\r\n\r\n',
  ],
  ...[
    'ffffffffffffffff0\r\n',
    `2;${'a'.repeat(20_000)}\r\n{}\r\n0\r\n\r\n`,
    '{}GET /health/live HTTP/1.1\r\nHost: a\r\n\r\n',
  ],
]

/** Bytes that are nearly HTTP/1.1: one to three requests on one connection, their lengths and line ends in doubt. */
export const framings = (): fc.Arbitrary<Buffer> => {
  const lineEnd = fc.oneof(
    { weight: 8, arbitrary: fc.constant('\r\n') },
    fc.constantFrom('\n', '\r', '\n\r', ''),
  )
  const request = fc
    .tuple(
      fc.constantFrom(...REQUEST_LINES),
      fc.array(fc.constantFrom(...HEADERS), { maxLength: 5 }),
      lineEnd,
      fc.constantFrom(...BODIES),
    )
    .map(([line, headers, end, body]) => `${[line, ...headers].join(end)}${end}${end}${body}`)
  return fc
    .array(request, { minLength: 1, maxLength: 3 })
    .map((requests) => Buffer.from(requests.join(''), 'latin1'))
}
