import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { networkInterfaces } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { describe, expect, it } from 'vitest'
import { ENV, echo, endpoint, folder, LAUNCHER, SECRET, seenIn, serve, start, valuesOf } from './support.ts'

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
    expect(valuesOf(seen, 'x-tag')).toEqual(['one, zwei ä€'])
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

  it('sends a file and standard input with their lengths', async () => {
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
    expect([piped.body, valuesOf(piped, 'content-length')]).toEqual(['abc', ['3']])
    const text = seenIn((await endpoint(['PUT', server.url, '--body', '-'], { input: 'abc' })).stdout)
    expect(text).toEqual(piped)
    const none = seenIn((await endpoint(['PUT', server.url, '--body-file', '-'])).stdout)
    expect([none.body, valuesOf(none, 'content-length')]).toEqual(['', ['0']])
  })

  it('shows the response of a server that refuses a body before its end', async () => {
    await using server = await serve((_request, response) => {
      response.writeHead(413, { connection: 'close' }).end('too long')
    })
    const input = Buffer.alloc(8 * 1024 ** 2)
    const { code, stdout } = await endpoint(['POST', server.url, '--body-file', '-'], { input })
    expect({ code, stdout }).toEqual({ code: 22, stdout: 'too long' })
  })

  it('appends a path to --base, API_SERVER or the base of the project, and never leaves their host', async () => {
    await using server = await serve(echo)
    const urlOf = async (args: string[], env = {}) =>
      seenIn((await endpoint(['GET', ...args], { env })).stdout).url
    expect(await urlOf(['/login?x=1', '--base', `${server.url}/api/?old#part`])).toBe('/api/login?x=1')
    expect(await urlOf(['/login'], { API_SERVER: server.url })).toBe('/login')
    const cwd = mkdtempSync(join(folder, 'project-'))
    writeFileSync(join(cwd, 'package.json'), JSON.stringify({ scriptify: { base: server.url } }))
    const { child } = start(['GET', '/login'], { cwd, env: { API_SERVER: '' } })
    expect(seenIn(await text(child.stdout)).url).toBe('/login')
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

  it('reaches a server by IPv6', async (context) => {
    const addresses = Object.values(networkInterfaces()).flat()
    if (!addresses.some((each) => each?.address === '::1'))
      context.skip('this machine has no address of IPv6')
    await using server = await serve(echo, '::1')
    expect((await endpoint(['GET', server.url])).code).toBe(0)
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
    ...['GET', 'HEAD'].map((method) => ({
      why: `a body of ${method}`,
      args: [method, url, '--body', SECRET],
      says: 'has no body',
    })),
    ...['Host', 'connection', 'Expect', 'Upgrade', 'Keep-Alive'].map((name) => ({
      why: `the header ${name}`,
      args: header(`${name}: x`),
      says: name,
    })),
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
    expect({ code, said }).toEqual({ code: 2, said: 'An argument is not UTF-8: convert it to UTF-8\n' })
  })

  it('a missing body file ends with 3', async () => {
    const ended = await endpoint(['POST', url, '--body-file', join(folder, 'none')])
    expect(ended).toMatchObject({ code: 3, stdout: '' })
    expect(ended.stderr).toContain('does not exist')
  })
})
