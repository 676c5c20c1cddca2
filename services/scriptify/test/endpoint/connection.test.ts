import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { pipeline } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  aCertificate,
  echo,
  endpoint,
  endpointAsProcess,
  type Listening,
  listen,
  SECRET,
  seenIn,
  serve,
  valuesOf,
} from './support.ts'

describe.concurrent('a redirect', () => {
  const redirectTo = (location: () => string, status = 302) =>
    serve((request, response) => {
      if (request.url === '/start') response.writeHead(status, { location: location() }).end('moved')
      else echo(request, response)
    })

  it('that is not followed is a response, and its target is named', async () => {
    await using server = await redirectTo(() => '/end\u009b31m')
    const plain = await endpoint(['GET', `${server.url}/start`])
    expect(plain).toMatchObject({ code: 0, stdout: 'moved' })
    expect(plain.stderr).toBe('HTTP 302 Found: redirects to /end\\u009b31m; --follow goes there\n')
    const included = await endpoint(['GET', `${server.url}/start`, '--include'])
    expect(included.stderr).toMatch(/^HTTP 302 Found\n[\s\S]*location: \/end/)
    expect(included.stderr).not.toContain('--follow')
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

  it('to another origin, and back, carries no header that was given, nor user and password', async () => {
    const hops: IncomingMessage[] = []
    await using other: Listening = await serve((request, response) => {
      hops.push(request)
      response.writeHead(307, { location: `${server.url}/end` }).end()
    })
    await using server: Listening = await serve((request, response) => {
      hops.push(request)
      // A server must not choose the credentials.
      const location = other.url.replace('//', '//evil:pw@')
      if (request.url === '/start') response.writeHead(307, { location }).end()
      else response.end()
    })
    const names = ['X-Api-Key', 'PRIVATE-TOKEN', 'Cookie', 'Proxy-Authorization', 'X-Any', 'User-Agent']
    const { code } = await endpoint([
      ...['GET', `${server.url.replace('//', `//ada:${SECRET}@`)}/start`, '--follow'],
      ...names.flatMap((name) => ['--header', `${name}: ${SECRET}`]),
    ])
    expect(code).toBe(0)
    const [first, ...later] = hops.map(({ headers }) => headers)
    expect(first).toMatchObject(Object.fromEntries(names.map((name) => [name.toLowerCase(), SECRET])))
    expect(first?.authorization).toMatch(/^Basic /)
    expect(later).toHaveLength(2)
    for (const headers of later) {
      expect(JSON.stringify(headers)).not.toContain('secret')
      expect(headers.authorization).toBeUndefined()
      expect(headers['user-agent']).toBe('scriptify')
    }
  })

  it.each([
    { status: 307, method: 'POST' },
    { status: 308, method: 'DELETE' },
    { status: 302, method: 'PUT' },
  ])('$status of a $method to another origin does not take the body there', async ({ status, method }) => {
    let isReached = false
    await using other = await serve((_request, response) => {
      isReached = true
      response.end()
    })
    await using server = await redirectTo(() => `${other.url}/?token=${SECRET}`, status)
    const args = [method, `${server.url}/start`, '--follow', '--body', SECRET]
    const { code, stderr } = await endpoint(args)
    expect({ code, isReached }).toEqual({ code: 1, isReached: false })
    expect(stderr).toContain(`redirects the body to ${other.url}: `)
    expect(stderr).not.toContain('secret')
    const asGet = await endpoint(['POST', ...args.slice(1)])
    expect(asGet.code).toBe(status === 302 ? 0 : 1)
  })

  it('sends a body of standard input again', async () => {
    await using server = await redirectTo(() => '/end', 307)
    const args = ['POST', `${server.url}/start`, '--follow', '--body-file', '-']
    expect(seenIn((await endpoint(args, { input: 'again' })).stdout).body).toBe('again')
  })

  it.each([
    { why: 'that goes round', location: '/start', says: 'after 20 redirects' },
    { why: 'to a file', location: 'file:///etc/passwd', says: 'an address that is not HTTP' },
    { why: 'to nowhere', location: 'http://', says: 'an address that is not HTTP' },
  ])('$why ends with 1', async ({ location, says }) => {
    await using server = await redirectTo(() => location)
    const ended = await endpoint(['GET', `${server.url}/start`, '--follow'])
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toContain(says)
  })
})

describe.concurrent('no response', () => {
  /** The address of a server that has ended. */
  const refusing = async () => {
    await using server = await serve(echo)
    return `${server.url}/`
  }
  it.each([
    { why: 'the connection is refused', url: refusing, says: 'refused' },
    { why: 'the host is unknown', url: () => 'http://no-such-host.invalid/', says: 'not known' },
    {
      why: 'fetch refuses the port',
      url: () => 'http://127.0.0.1:6000/',
      says: 'http://127.0.0.1:6000: fetch refuses port 6000, which belongs to another protocol',
    },
    {
      why: 'fetch refuses the port of an https server',
      url: () => 'https://localhost:10080/',
      says: 'fetch refuses port 10080,',
    },
  ])('because $why ends with 7', async ({ url: urlOf, says }) => {
    const url = await urlOf()
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
    expect(ended.stderr).toMatch(
      /^No complete response from \S+ within 0.5 s; --timeout sets another time\n$/,
    )
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
    const asked: (string | undefined)[] = []
    const proxyServer = http.createServer().on('connect', (request, socket) => {
      asked.push(request.url)
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n')
      const onward = connect(server.port, '127.0.0.1')
      pipeline(socket, onward, socket, () => socket.destroy())
    })
    await using proxy = await listen(proxyServer)
    const env = { http_proxy: proxy.url, NO_PROXY: '127.0.0.1' }
    const proxied = await endpoint(['GET', 'http://shop.example/x'], { env })
    expect([seenIn(proxied.stdout).url, asked]).toEqual(['/x', ['shop.example:80']])
    const direct = await endpoint(['GET', `${server.url}/y`], { env })
    expect([seenIn(direct.stdout).url, asked.length]).toEqual(['/y', 1])
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
