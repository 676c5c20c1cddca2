import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { stripVTControlCharacters } from 'node:util'
import { brotliCompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { startTypist } from '../terminal-pty.ts'
import { endpoint, folder, IN_TIME, LARGE, LAUNCHER, peakOf, serve, start } from './support.ts'

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
