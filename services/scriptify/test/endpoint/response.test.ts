import { once } from 'node:events'
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { endpoint, serve, start } from './support.ts'

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
    expect(stderr).toMatch(/^HTTP 201 Made\n[\s\S]+\nx-sign: a[^\n\u009b]*31m\n\n$/)
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
    expect(ended).toMatchObject({ code, stdout: '', stderr: code ? `HTTP ${status} As Said\n` : '' })
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
    const { stdout } = await show(json('{"id":12345678901234567890,"f":1.50,"a":[{}]}'))
    expect(stdout).toBe('{\n  "id": 12345678901234567890,\n  "f": 1.50,\n  "a": [\n    {}\n  ]\n}\n')
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
