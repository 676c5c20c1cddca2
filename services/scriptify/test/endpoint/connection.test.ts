import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { pipeline } from 'node:stream'
import { describe, expect, it } from 'vitest'
import {
  aCertificate,
  echo,
  endpoint,
  endpointAsProcess,
  folder,
  type Listening,
  listen,
  SECRET,
  seenIn,
  serve,
  start,
  valuesOf,
} from './support.ts'

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
    expect(ended.stderr).toMatch(
      /^No complete response from \S+ within 0.5 s; --timeout sets another time\n$/,
    )
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
