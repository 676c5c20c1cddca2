import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, truncateSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { generate } from 'selfsigned'
import { describe, expect, it } from 'vitest'
import { runForBytes } from './run-in-process.ts'
import { startTypist } from './terminal-pty.ts'

const LAUNCHER = join(import.meta.dirname, '../bin/scriptify')
const SECRET = 'eyJhbGciOiJIUzUxMiJ9.secret-part'
const folder = mkdtempSync(join(tmpdir(), 'scriptify-endpoint-'))
/** The environment without the proxies of this machine. */
const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)))

/** Starts `scriptify endpoint`; an exit by a signal becomes 128 + its number, as in a shell. */
function start(
  args: string[],
  { env = {}, input }: { env?: NodeJS.ProcessEnv; input?: string | Buffer } = {},
) {
  const child = spawn(process.execPath, [LAUNCHER, 'endpoint', ...args], { env: { ...ENV, ...env } })
  // A server that refuses a body does not read it.
  child.stdin.on('error', () => undefined)
  if (input !== undefined) child.stdin.end(input)
  const code = once(child, 'exit').then(([exit, signal]) => exit ?? (signal === 'SIGINT' ? 130 : -1))
  return { child, code }
}

/** Runs it to its end without a separate process. */
async function endpoint(
  args: string[],
  { env = {}, ...options }: { env?: NodeJS.ProcessEnv; input?: string | Buffer; isTTY?: boolean } = {},
) {
  const ended = await runForBytes(['endpoint', ...args], { ...options, env: { ...ENV, ...env } })
  return { ...ended, stdout: ended.bytes.toString() }
}

/** Runs it to its end as a process: Node reads NODE_EXTRA_CA_CERTS when it starts. */
async function endpointAsProcess(args: string[], env: NodeJS.ProcessEnv = {}) {
  const { child, code } = start(args, { env, input: '' })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

interface Listening extends AsyncDisposable {
  url: string
  port: number
}

async function listen(
  server: Server | https.Server,
  scheme = 'http',
  host = '127.0.0.1',
): Promise<Listening> {
  await once(server.listen(0, host), 'listening')
  const { port } = server.address() as AddressInfo
  return {
    url: `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

const serve = (listener: RequestListener, host?: string) => listen(http.createServer(listener), 'http', host)

/** A request as a server received it, header lines in their order and case. */
interface Seen {
  method: string | undefined
  url: string | undefined
  headers: [string, string][]
  body: string
}

async function see(request: IncomingMessage): Promise<Seen> {
  const { rawHeaders, method, url } = request
  const headers = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, Buffer.from(rawHeaders[index + 1] ?? '', 'latin1').toString()]] : [],
  )
  return { method, url, headers, body: await text(request) }
}

const echo: RequestListener = async (request, response) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(await see(request)))
}

const seenIn = (stdout: string): Seen => JSON.parse(stdout)
const valuesOf = (seen: Seen, name: string) =>
  seen.headers.filter(([given]) => given.toLowerCase() === name.toLowerCase()).map(([, value]) => value)

const LARGE = 256 * 1024 ** 2
/** Options for a large body, which may take more than the default 30 s on a busy machine. */
const IN_TIME = ['--timeout', '150']

/** The peak memory of a process, in MiB. */
function peakOf({ pid }: ChildProcess): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024
}

/** A key, its certificate, and the environment that trusts it. */
async function aCertificate(host: string) {
  const { private: key, cert } = await generate([{ name: 'commonName', value: host }], {
    // A key of RSA takes a hundred times as long.
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
  })
  const path = join(folder, `${host}.pem`)
  writeFileSync(path, cert)
  return { key, cert, env: { NODE_EXTRA_CA_CERTS: path } }
}

describe.concurrent('a body in a content coding', () => {
  const coded: RequestListener = (request, response) => {
    const coding = request.url?.slice(1) ?? ''
    const encode = { gzip: gzipSync, br: brotliCompressSync, broken: () => Buffer.from('no gzip') }[coding]
    response.setHeader('Content-Encoding', coding === 'broken' ? 'gzip' : coding)
    response.end(encode?.(Buffer.from('hello')) ?? 'as it is')
  }

  it.each([
    { coding: 'gzip', prints: 'hello' },
    { coding: 'br', prints: 'hello' },
    { coding: 'unknown', prints: 'as it is' },
  ])('is decoded: $coding', async ({ coding, prints }) => {
    await using server = await serve(coded)
    expect(await endpoint(['GET', `${server.url}/${coding}`])).toEqual({
      code: 0,
      stdout: prints,
      bytes: Buffer.from(prints),
      stderr: '',
    })
  })

  it('is kept if the user asked for it', async () => {
    await using server = await serve(coded)
    const { bytes } = await endpoint(['GET', `${server.url}/gzip`, '--header', 'accept-encoding: gzip'])
    expect(gunzipSync(bytes).toString()).toBe('hello')
  })

  it('fails in one line if it is not what the server says', async () => {
    await using server = await serve(coded)
    const { code, stderr } = await endpoint(['GET', `${server.url}/broken`])
    expect(code).toBe(7)
    expect(stderr).toContain('the body is not what its Content-Encoding says')
  })
})

describe.concurrent('a request', () => {
  it('goes out with method, headers and body as given', async () => {
    await using server = await serve(echo)
    const headers = ['X-Tag: one', 'x-tag: zwei ä€', 'X-Empty:', 'accept: text/plain', 'Cookie: a=b: c']
    const args = [
      'patch',
      `${server.url}/a%20b?q=%41&r=ü#part`,
      ...headers.flatMap((header) => ['--header', header]),
    ]
    const { code, stdout, stderr } = await endpoint([...args, '--body', 'a\nb "ü" $x %'])
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    const seen = seenIn(stdout)
    expect(seen).toMatchObject({ method: 'PATCH', url: '/a%20b?q=%41&r=%C3%BC', body: 'a\nb "ü" $x %' })
    expect(valuesOf(seen, 'x-tag')).toEqual(['one', 'zwei ä€'])
    expect(valuesOf(seen, 'x-empty')).toEqual([''])
    expect(valuesOf(seen, 'accept')).toEqual(['text/plain'])
    expect(valuesOf(seen, 'cookie')).toEqual(['a=b: c'])
    expect(valuesOf(seen, 'content-type')).toEqual([])
  })

  it.each([
    { why: 'a JSON object', args: ['--body', ' {"a":1}'], types: ['application/json'] },
    { why: 'a JSON array', args: ['--body', '[]'], types: ['application/json'] },
    { why: 'text', args: ['--body', 'a=1'], types: [] },
    { why: 'a given type', args: ['--body', '{}', '--header', 'content-type: a/b'], types: ['a/b'] },
    {
      why: 'the last of two given types',
      args: ['--body', '{}', '--header', 'Content-Type: a/b', '--header', 'content-type: c/d'],
      types: ['c/d'],
    },
  ])('gives $why its content type', async ({ args, types }) => {
    await using server = await serve(echo)
    const { stdout } = await endpoint(['POST', server.url, ...args])
    expect(valuesOf(seenIn(stdout), 'content-type')).toEqual(types)
  })

  it('takes a body that begins with a dash, and an empty one', async () => {
    await using server = await serve(echo)
    expect(seenIn((await endpoint(['POST', server.url, '--body', '--x'])).stdout).body).toBe('--x')
    const empty = seenIn((await endpoint(['POST', server.url, '--body', ''])).stdout)
    expect([empty.body, valuesOf(empty, 'content-length')]).toEqual(['', ['0']])
  })

  it('sends a file with its length, and standard input in chunks', async () => {
    await using server = await serve(echo)
    const path = join(folder, 'body.json')
    writeFileSync(path, '{"é":1}\n')
    const file = seenIn((await endpoint(['PUT', server.url, '--body-file', path])).stdout)
    expect(file.body).toBe('{"é":1}\n')
    expect([valuesOf(file, 'content-length'), valuesOf(file, 'content-type')]).toEqual([
      ['9'],
      ['application/json'],
    ])
    const piped = seenIn((await endpoint(['PUT', server.url, '--body-file', '-'], { input: 'abc' })).stdout)
    expect([piped.body, valuesOf(piped, 'transfer-encoding')]).toEqual(['abc', ['chunked']])
    const none = seenIn((await endpoint(['PUT', server.url, '--body-file', '-'])).stdout)
    expect([none.body, valuesOf(none, 'content-length')]).toEqual(['', ['0']])
  })

  it('shows the response of a server that refuses a body before its end', async () => {
    const refusing = http.createServer().on('checkContinue', (_request, response) => {
      response.writeHead(413, { connection: 'close' }).end('too long')
    })
    await using server = await listen(refusing)
    const input = Buffer.alloc(8 * 1024 ** 2)
    const { code, stdout } = await endpoint(['POST', server.url, '--body-file', '-'], { input })
    expect({ code, stdout }).toEqual({ code: 22, stdout: 'too long' })
  })

  it('of 256 MiB takes no memory of that size', { concurrent: false }, async () => {
    const path = join(folder, 'large')
    writeFileSync(path, '')
    truncateSync(path, LARGE)
    let peak = 0
    await using server = await serve(async (request, response) => {
      let length = 0
      for await (const chunk of request) length += chunk.length
      peak = peakOf(child)
      response.end(String(length))
    })
    const { child, code } = start(['PUT', server.url, '--body-file', path, ...IN_TIME])
    expect([await text(child.stdout), await code]).toEqual([String(LARGE), 0])
    expect(peak).toBeGreaterThan(20)
    expect(peak).toBeLessThan(LARGE / 1024 ** 2)
  })

  it('sends a long body to a server that does not know 100-continue', async () => {
    const server = createTcpServer((socket) => {
      let length = 0
      socket.on('data', (chunk) => {
        length += chunk.length
        // It answers only once it has everything, headers included.
        if (length > 2 * 1024 ** 2) socket.end('HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok')
      })
      socket.on('error', () => undefined)
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const input = Buffer.alloc(2 * 1024 ** 2)
    const args = ['POST', `http://127.0.0.1:${port}/`, '--body-file', '-']
    expect(await endpoint(args, { input })).toMatchObject({ code: 0, stdout: 'ok' })
    server.close()
  })

  it('warns about the body of a GET request and sends it', async () => {
    await using server = await serve(echo)
    const { stdout, stderr } = await endpoint(['get', server.url, '--body', 'x'])
    expect(seenIn(stdout).body).toBe('x')
    expect(stderr).toContain('GET')
  })

  it('appends a path to --base, else to API_SERVER, and never leaves their host', async () => {
    await using server = await serve(echo)
    const urlOf = async (args: string[], env = {}) =>
      seenIn((await endpoint(['GET', ...args], { env })).stdout).url
    expect(await urlOf(['/login?x=1', '--base', `${server.url}/api/?old#part`])).toBe('/api/login?x=1')
    expect(await urlOf(['/login'], { API_SERVER: server.url })).toBe('/login')
    const local = { APP_ENV: 'dev', API_SERVER: '', PORT: new URL(server.url).port }
    expect(await urlOf(['/login'], local), 'the local API follows PORT').toBe('/login')
    expect(await urlOf(['//elsewhere.example/x', '--base', server.url])).toBe('//elsewhere.example/x')
  })

  it('logs in with user and password of the URL, unless a header does', async () => {
    await using server = await serve(echo)
    const url = server.url.replace('//', '//us%40er:p%3Aw@')
    expect(valuesOf(seenIn((await endpoint(['GET', url])).stdout), 'authorization')).toEqual([
      `Basic ${Buffer.from('us@er:p:w').toString('base64')}`,
    ])
    const given = await endpoint(['GET', url, '--header', 'Authorization: Bearer x'])
    expect(valuesOf(seenIn(given.stdout), 'authorization')).toEqual(['Bearer x'])
  })

  it('reaches a server by IPv6', async () => {
    await using server = await serve(echo, '::1')
    expect((await endpoint(['GET', server.url])).code).toBe(0)
  })
})

describe('a response', () => {
  it('comes out byte for byte, the rest on standard error', async () => {
    const body = Buffer.from([...Array(256).keys(), 0x0d, 0x0a, 0xff, 0xfe])
    await using server = await serve((_request, response) => {
      response.setHeader('X-Sign', 'a\u009b31m').writeHead(201, 'Made').end(body)
    })
    const plain = await endpoint(['GET', server.url])
    expect(plain.bytes.equals(body)).toBe(true)
    expect(plain.stderr).toBe('')
    const { code, bytes, stderr } = await endpoint(['GET', server.url, '--include'])
    expect({ code, same: bytes.equals(body) }).toEqual({ code: 0, same: true })
    expect(stderr).toMatch(/^HTTP\/1\.1 201 Made\nX-Sign: a[^\n\u009b]*31m\n[\s\S]+\n\n$/)
  })

  it('keeps JSON as it came when it goes to a pipe', async () => {
    const body = '{"b":12345678901234567890,\n"a":1}'
    await using server = await serve((_request, response) => {
      response.setHeader('content-type', 'application/json').end(body)
    })
    expect((await endpoint(['GET', server.url])).stdout).toBe(body)
  })

  it.each([
    { status: 204, code: 0 },
    { status: 302, code: 0 },
    { status: 399, code: 0 },
    { status: 400, code: 22 },
    { status: 599, code: 22 },
  ])('of status $status ends with $code', async ({ status, code }) => {
    await using server = await serve((_request, response) => {
      response.writeHead(status, 'As Said').end()
    })
    const ended = await endpoint(['GET', server.url])
    expect(ended).toMatchObject({ code, stdout: '', stderr: code ? `HTTP/1.1 ${status} As Said\n` : '' })
  })

  it('of HEAD has no body', async () => {
    await using server = await serve((_request, response) => {
      response.setHeader('content-length', 5).end('abcde')
    })
    expect(await endpoint(['HEAD', server.url])).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  it('is written while it arrives', async () => {
    const { promise: seen, resolve: see } = Promise.withResolvers<void>()
    await using server = await serve(async (_request, response) => {
      response.write('first\n')
      await seen
      response.end('last\n')
    })
    const { child, code } = start(['GET', server.url])
    // The server sends no more before this has arrived.
    const [first] = await once(child.stdout, 'data')
    see()
    expect(String(first) + (await text(child.stdout))).toBe('first\nlast\n')
    expect(await code).toBe(0)
  })

  it('of 256 MiB takes no memory of that size', async () => {
    const { promise: measured, resolve: measure } = Promise.withResolvers<void>()
    await using server = await serve(async (_request, response) => {
      const chunk = Buffer.alloc(1024 ** 2, 'a')
      for (let sent = 0; sent < LARGE; sent += chunk.length)
        if (!response.write(chunk)) await once(response, 'drain')
      await measured
      response.end()
    })
    const { child, code } = start(['GET', server.url, ...IN_TIME])
    // This process would allocate all of it.
    const counter = spawn('sh', ['-c', `head -c ${LARGE} | wc -c; wc -c`], {
      stdio: [child.stdout, 'pipe', 'inherit'],
    })
    child.stdout.destroy()
    const [counted] = await once(counter.stdout, 'data')
    const peak = peakOf(child)
    measure()
    expect([Number(counted), Number(await text(counter.stdout)), await code]).toEqual([LARGE, 0, 0])
    expect(peak).toBeGreaterThan(20)
    expect(peak).toBeLessThan(LARGE / 1024 ** 2)
  })

  it('that is longer than --max-bytes is cut, and that is a failure', async () => {
    await using server = await serve((_request, response) => void response.end('abcdef'))
    const cut = await endpoint(['GET', server.url, '--max-bytes', '4'])
    expect(cut).toMatchObject({ code: 1, stdout: 'abcd' })
    expect(cut.stderr).toContain('--max-bytes')
    expect(await endpoint(['GET', server.url, '--max-bytes', '6'])).toMatchObject({
      code: 0,
      stdout: 'abcdef',
    })
  })

  it('ends without a message when its pipe is closed', async () => {
    await using server = await serve((_request, response) => {
      const more = () => {
        while (response.write('y\n'.repeat(10_000)));
      }
      response.on('drain', more)
      more()
    })
    const { child, code } = start(['GET', server.url])
    await once(child.stdout, 'data')
    child.stdout.destroy()
    expect([await code, await text(child.stderr)]).toEqual([141, ''])
  })

  it('is awaited until Ctrl-C', async () => {
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    await using server = await serve(() => ask())
    const { child, code } = start(['GET', server.url])
    await asked
    child.kill('SIGINT')
    expect([await code, await text(child.stderr)]).toEqual([130, ''])
  })
})

describe.concurrent('on a terminal', () => {
  const json = (body: string) => (_request: IncomingMessage, response: ServerResponse) => {
    response.setHeader('content-type', 'application/problem+json; charset=utf-8').end(body)
  }
  const show = async (listener: RequestListener) => {
    await using server = await serve(listener)
    return await endpoint(['GET', server.url], { isTTY: true })
  }

  it('shows JSON indented, every digit unchanged', async () => {
    await using server = await serve(json('{"id":12345678901234567890,"f":1.50,"a":[{}]}'))
    await using typist = startTypist(process.execPath, [LAUNCHER, 'endpoint', 'GET', server.url], {
      prompt: /$^/,
      cwd: folder,
    })
    let seen = ''
    typist.pty.onData((data) => {
      seen += data
    })
    expect(await typist.exited).toBe(0)
    expect(stripVTControlCharacters(seen).replaceAll('\r', '')).toBe(
      '{\n  "id": 12345678901234567890,\n  "f": 1.50,\n  "a": [\n    {}\n  ]\n}\n',
    )
  })

  it('escapes the control characters of JSON', async () => {
    expect((await show(json('{"a":"\\u009b31m"}'))).stdout).toBe('{\n  "a": "\\u009b31m"\n}\n')
  })

  it('shows a text that is not JSON unchanged', async () => {
    expect((await show(json('{oops'))).stdout).toBe('{oops\n')
    expect((await show((_request, response) => void response.end('{"a":1}'))).stdout).toBe('{"a":1}\n')
  })

  it('does not show a binary body', async () => {
    const { code, stdout, stderr } = await show(
      (_request, response) => void response.end(Buffer.from([0, 1, 2])),
    )
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' })
    expect(stderr).toContain('binary')
  })
})

describe.concurrent('a redirect', () => {
  const redirectTo = (location: () => string, status = 302) =>
    serve((request, response) => {
      if (request.url === '/start') response.writeHead(status, { location: location() }).end('moved')
      else echo(request, response)
    })

  it('is a response like any other by default', async () => {
    await using server = await redirectTo(() => '/end')
    const { code, stdout, stderr } = await endpoint(['GET', `${server.url}/start`, '--include'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'moved' })
    expect(stderr).toContain('location: /end')
  })

  it.each([
    { status: 301, method: 'POST', becomes: 'GET', body: '' },
    { status: 302, method: 'POST', becomes: 'GET', body: '' },
    { status: 303, method: 'PUT', becomes: 'GET', body: '' },
    { status: 302, method: 'PUT', becomes: 'PUT', body: '{"a":1}' },
    { status: 307, method: 'POST', becomes: 'POST', body: '{"a":1}' },
    { status: 308, method: 'POST', becomes: 'POST', body: '{"a":1}' },
  ])('$status turns $method into $becomes', async ({ status, method, becomes, body }) => {
    await using server = await redirectTo(() => 'end?a#b', status)
    const { code, stdout } = await endpoint([
      ...[method, `${server.url}/start`, '--follow', '--body', '{"a":1}'],
      ...['--header', 'Authorization: Bearer x'],
    ])
    expect(code).toBe(0)
    const seen = seenIn(stdout)
    expect(seen).toMatchObject({ method: becomes, url: '/end?a', body })
    expect(valuesOf(seen, 'content-type')).toEqual(body ? ['application/json'] : [])
    expect(valuesOf(seen, 'authorization')).toEqual(['Bearer x'])
  })

  it.each(['Authorization', 'Cookie', 'Host', 'Proxy-Authorization'])(
    'to another origin, and back, drops %s',
    async (name) => {
      const hops: string[][] = []
      const note = (request: IncomingMessage) =>
        hops.push(
          request.rawHeaders.filter(
            (_, at, all) => at % 2 === 1 && all[at - 1]?.toLowerCase() === name.toLowerCase(),
          ),
        )
      await using other: Listening = await serve((request, response) => {
        note(request)
        response.writeHead(307, { location: `${server.url}/end` }).end()
      })
      await using server: Listening = await serve((request, response) => {
        note(request)
        if (request.url === '/start') response.writeHead(307, { location: other.url }).end()
        else response.end()
      })
      const { code } = await endpoint([
        ...[
          'GET',
          `${server.url}/start`,
          '--follow',
          '--header',
          `${name}: ${SECRET}`,
          '--header',
          'X-Stays: 1',
        ],
      ])
      expect(code).toBe(0)
      expect(hops).toHaveLength(3)
      expect(hops.map((values) => values.includes(SECRET))).toEqual([true, false, false])
    },
  )

  it('does not carry user and password of the URL on, and takes none from the server', async () => {
    await using other = await serve(echo)
    await using server = await redirectTo(() => other.url.replace('//', '//evil:pw@'))
    const { stdout } = await endpoint(['GET', `${server.url.replace('//', '//ada:pw@')}/start`, '--follow'])
    expect(valuesOf(seenIn(stdout), 'authorization')).toEqual([])
  })

  it('sends a file again, and refuses to send a pipe again', async () => {
    await using server = await redirectTo(() => '/end', 307)
    const path = join(folder, 'again.txt')
    writeFileSync(path, 'again')
    const args = ['POST', `${server.url}/start`, '--follow', '--body-file']
    expect(seenIn((await endpoint([...args, path])).stdout).body).toBe('again')
    const piped = await endpoint([...args, '-'], { input: 'once' })
    expect(piped).toMatchObject({ code: 1, stdout: '' })
    expect(piped.stderr).toContain('use a file')
  })

  it.each([
    { why: 'that goes round', location: '/start', says: 'after 3 redirects' },
    { why: 'to a file', location: 'file:///etc/passwd', says: 'not an HTTP address' },
    { why: 'to nowhere', location: 'http://', says: 'not an HTTP address' },
  ])('$why ends with 1', async ({ location, says }) => {
    await using server = await redirectTo(() => location)
    const ended = await endpoint(['GET', `${server.url}/start`, '--follow', '--max-redirects', '3'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain(says)
  })
})

describe.concurrent('no response', () => {
  it.each([
    { why: 'the connection is refused', url: 'http://127.0.0.1:1/', says: 'refused' },
    { why: 'the host is unknown', url: 'http://no-such-host.invalid/', says: 'not known' },
  ])('because $why ends with 7', async ({ url, says }) => {
    const ended = await endpoint(['GET', `${url.replace('//', `//ada:${SECRET}@`)}?token=${SECRET}`])
    expect(ended).toMatchObject({ code: 7, stdout: '' })
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    expect(ended.stderr).toContain(says)
    expect(ended.stderr).not.toContain('secret')
  })

  it.each([
    {
      why: 'that breaks off',
      answer: 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc',
      code: 7,
      stdout: 'abc',
    },
    { why: 'that is not HTTP', answer: 'SSH-2.0-OpenSSH_9.9\r\n', code: 7, stdout: '' },
    { why: 'of no bytes', answer: '', code: 7, stdout: '' },
    {
      why: 'with endless headers',
      answer: `HTTP/1.1 200 OK\r\nA: ${'a'.repeat(100_000)}`,
      code: 7,
      stdout: '',
    },
  ])('or one $why ends with 7', async ({ answer, code, stdout }) => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(answer))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const ended = await endpoint(['GET', `http://127.0.0.1:${port}/`, '--header', `Authorization: ${SECRET}`])
    server.close()
    expect(ended).toMatchObject({ code, stdout })
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
    expect(ended.stderr).not.toContain('secret')
  })

  it.each([
    { why: 'before the headers', begin: () => undefined },
    { why: 'in the body', begin: (response: ServerResponse) => void response.write('begun') },
  ])('within --timeout, $why, ends with 28', async ({ begin }) => {
    await using server = await serve((_request, response) => begin(response))
    const ended = await endpoint(['GET', `${server.url}/?token=${SECRET}`, '--timeout', '0.5'])
    expect(ended.code).toBe(28)
    expect(ended.stderr).toMatch(/^No complete response from \S+ within 0.5 s\n$/)
  })

  it('to a body whose pipe stays open does not keep the process', async () => {
    await using server = await serve(() => undefined)
    const { child, code } = start(['POST', server.url, '--body-file', '-', '--timeout', '1'])
    child.stdin.write('never ends')
    expect(await code).toBe(28)
  })
})

describe('TLS', () => {
  it('is trusted only by NODE_EXTRA_CA_CERTS, and for the right host', async () => {
    const { key, cert, env } = await aCertificate('localhost')
    await using secure = await listen(https.createServer({ key, cert }, echo), 'https')
    const args = ['GET', `https://localhost:${secure.port}/`, '--header', `Authorization: Bearer ${SECRET}`]
    const untrusted = await endpoint(args)
    expect(untrusted).toMatchObject({ code: 7, stdout: '' })
    expect(untrusted.stderr).toContain('NODE_EXTRA_CA_CERTS')
    expect(untrusted.stderr).not.toContain('secret')
    expect((await endpointAsProcess(args, env)).code).toBe(0)
    const other = await endpointAsProcess(['GET', secure.url], env)
    expect(other).toMatchObject({ code: 7, stdout: '' })
    expect(other.stderr).toContain('another host')
  })

  it('is not spoken by a plain server', async () => {
    await using server = await serve(echo)
    expect((await endpoint(['GET', server.url.replace('http', 'https')])).code).toBe(7)
  })
})

describe('a proxy of the environment', () => {
  it('is used, but for the hosts of NO_PROXY', async () => {
    await using server = await serve(echo)
    await using proxy = await serve((request, response) => void response.end(`by proxy: ${request.url}`))
    const env = { HTTP_PROXY: proxy.url }
    const proxied = await endpoint(['GET', `${server.url}/x`], { env })
    expect(proxied.stdout).toBe(`by proxy: ${server.url}/x`)
    const direct = await endpoint(['GET', `${server.url}/x`], {
      env: { ...env, NO_PROXY: '127.0.0.1' },
    })
    expect(seenIn(direct.stdout).url).toBe('/x')
  })

  it('tunnels TLS, and its refusal shows none of its password', async () => {
    const { key, cert, env } = await aCertificate('tunnelled.example')
    await using secure = await listen(https.createServer({ key, cert }, echo), 'https')
    const proxyServer = http.createServer().on('connect', (request, socket) => {
      socket.on('error', () => undefined)
      if (request.url !== 'tunnelled.example:443') {
        socket.resume().end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n')
        return
      }
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const onward = connect(secure.port, '127.0.0.1')
      pipeline(socket, onward, socket, () => socket.destroy())
    })
    await using proxy = await listen(proxyServer)
    const through = { ...env, HTTPS_PROXY: proxy.url.replace('//', `//ada:${SECRET}@`) }
    const passed = await endpointAsProcess(['GET', 'https://tunnelled.example/x'], through)
    expect(passed).toMatchObject({ code: 0, stderr: '' })
    expect(seenIn(passed.stdout).url).toBe('/x')
    const refused = await endpoint(['GET', 'https://refused.example/x'], { env: through })
    expect(refused).toMatchObject({ code: 7, stdout: '' })
    expect(refused.stderr).toContain('the proxy')
    expect(refused.stderr).not.toContain('secret')
  })
})

describe.concurrent('wrong usage', () => {
  const url = 'http://127.0.0.1:1/'
  const header = (line: string) => ['GET', url, '--header', line]
  it.each([
    { why: 'no URL', args: ['GET'], says: 'url' },
    { why: 'a method with a space', args: ['GET /x HTTP/1.1', url], says: 'method' },
    { why: 'a method with a line break', args: ['GET\r\nX', url], says: 'method' },
    { why: 'CONNECT', args: ['CONNECT', url], says: 'CONNECT' },
    { why: 'another scheme', args: ['GET', `ftp://ada:${SECRET}@host/`], says: 'http://' },
    { why: 'a file', args: ['GET', 'file:///etc/passwd'], says: 'http://' },
    { why: 'no scheme', args: ['GET', 'localhost:8080/x'], says: 'http://' },
    { why: 'no host', args: ['GET', 'http://'], says: 'valid' },
    { why: 'an invalid port', args: ['GET', `http://ada:${SECRET}@host:99999/`], says: 'valid' },
    { why: 'a line break in the URL', args: ['GET', 'http://127.0.0.1:1/\r\nX: y'], says: 'white space' },
    { why: 'a tab in the URL', args: ['GET', 'http://127.0.0.1:1/\tx'], says: 'white space' },
    { why: 'a bad base', args: ['GET', '/x', '--base', 'host'], says: '--base' },
    { why: 'a bad % in the password', args: ['GET', `http://ada:${SECRET}%zz@host/`], says: '%25' },
    { why: 'a header without colon', args: header(`Authorization ${SECRET}`), says: 'Name: value' },
    { why: 'a header name with a space', args: header(`X ${SECRET}: y`), says: 'token' },
    { why: 'an empty header name', args: header(`: ${SECRET}`), says: 'token' },
    { why: 'CR LF in a header', args: header(`X-A: ${SECRET}\r\nX-B: c`), says: 'X-A' },
    { why: 'LF in a header', args: header(`X-A: ${SECRET}\nX-B: c`), says: 'X-A' },
    { why: 'CR at the end of a header', args: header(`X-A: ${SECRET}\r`), says: 'X-A' },
    { why: 'an escape in a header', args: header(`X-A: ${SECRET}\x1b`), says: 'X-A' },
    { why: 'a Content-Length', args: header('Content-Length: 3'), says: 'Content-Length' },
    { why: 'a Transfer-Encoding', args: header('transfer-encoding: chunked'), says: 'transfer-encoding' },
    { why: 'a trailer', args: [...header('Trailer: X-Sum'), '--body', 'a'], says: 'Trailer' },
    { why: 'two bodies', args: ['POST', url, '--body', 'a', '--body-file', '-'], says: '--body-file' },
    { why: 'a directory as body', args: ['POST', url, '--body-file', folder], says: 'directory' },
    { why: 'no time', args: ['GET', url, '--timeout', '0'], says: '--timeout' },
    { why: 'an invalid time', args: ['GET', url, '--timeout', '1d'], says: '--timeout' },
    {
      why: 'a negative number of redirects',
      args: ['GET', url, '--max-redirects', '-1'],
      says: '--max-redirects',
    },
    { why: 'an invalid number of bytes', args: ['GET', url, '--max-bytes', '1k'], says: '--max-bytes' },
  ])('$why is refused with 2 in one line', async ({ args, says }) => {
    const { code, stdout, stderr } = await endpoint(args)
    expect({ code, stdout, lines: stderr.trim().split('\n').length }).toEqual({
      code: 2,
      stdout: '',
      lines: 1,
    })
    expect(stderr).toContain(says)
    expect(stderr).not.toContain('secret')
  })

  it('what is not UTF-8 is refused with 2', async () => {
    const script = `exec "$0" "$1" endpoint GET "http://127.0.0.1:1/$(printf '\\351')"`
    const child = spawn('sh', ['-c', script, process.execPath, LAUNCHER], { env: ENV })
    const [said, [code]] = await Promise.all([text(child.stderr), once(child, 'exit')])
    expect({ code, said }).toEqual({ code: 2, said: 'An argument is not UTF-8\n' })
  })

  it('a missing body file ends with 3', async () => {
    const ended = await endpoint(['POST', url, '--body-file', join(folder, 'none')])
    expect(ended).toMatchObject({ code: 3, stdout: '' })
    expect(ended.stderr).toContain('does not exist')
  })
})
