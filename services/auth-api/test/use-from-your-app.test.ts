import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '../../test/support/free-port.ts'
import { isInstalled } from '../../test/support/installed-program.ts'
import { aToken, aUser, signToken, startApp, type TestApp, type TestUser } from './support/start-app.ts'

const PAGE = await readFile(join(import.meta.dirname, '../../../docs/how-to/use-from-your-app.md'), 'utf8')
/** Where Debian's golang-github-golang-jwt-jwt-dev has its source. */
const GOPATH = '/usr/share/gocode'

const blocksOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  )

let app: TestApp
let api: string
let user: TestUser
let token: string
beforeAll(async () => {
  app = await startApp()
  api = await app.server.listen({ host: '127.0.0.1', port: 0 })
  user = await aUser(app, { role: 'admin' })
  token = await aToken(app, user)
})
afterAll(() => app[Symbol.asyncDispose]())

const required = { requiredBy: 'REQUIRE_PROGRAMS' }
const hasNginx = isInstalled('nginx', { args: ['-v'], ...required })
const hasPhp = isInstalled('php', required)
const GOLANG_JWT = `${GOPATH}/src/github.com/golang-jwt/jwt`
const hasGo = isInstalled('go', { args: ['version'], ...required }) && existsSync(GOLANG_JWT)
if (!hasGo && process.env.REQUIRE_PROGRAMS === '1')
  throw new Error(`REQUIRE_PROGRAMS=1, but there is no ${GOLANG_JWT}; install golang-jwt`)

/** How each program of the page is run on a token. */
const PROGRAMS = [
  {
    name: 'Node and jose',
    isHere: true,
    // Inside the project, which has jose.
    folder: () => mkdtempDisposable(join(import.meta.dirname, '.generated-')),
    file: 'verify.mjs',
    source: () => blocksOf('js').find((block) => block.includes('jwtVerify')) ?? '',
    commandOf: (file: string) => [process.execPath, file],
    refuses: [],
  },
  {
    name: 'PHP',
    isHere: hasPhp,
    folder: () => mkdtempDisposable(join(tmpdir(), 'latchkey-php-')),
    file: 'verify.php',
    source: () => blocksOf('php').find((block) => block.includes('hash_hmac')) ?? '',
    commandOf: (file: string) => ['php', file],
    refuses: [{ aud: 'https://another.example' }],
  },
  {
    name: 'Go and golang-jwt',
    isHere: hasGo,
    folder: () => mkdtempDisposable(join(tmpdir(), 'latchkey-go-')),
    file: 'main.go',
    // Debian has v4, without modules.
    source: () => (blocksOf('go')[0] ?? '').replace('jwt/jwt/v5', 'jwt/jwt'),
    commandOf(file: string) {
      const env = { ...process.env, GO111MODULE: 'off', GOPATH, GOCACHE: join(tmpdir(), 'latchkey-go-cache') }
      const program = file.replace('.go', '')
      // Once for all tokens, which `go run` would link again for each.
      execFileSync('go', ['build', '-o', program, file], { env })
      return [program]
    },
    refuses: [],
  },
]

/** The token under another header, with the signature that HS512 gives it. */
function withHeader(header: object): string {
  const [, payload = ''] = token.split('.')
  const signed = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
  return `${signed}.${createHmac('sha512', app.config.tokens.secret).update(signed).digest('base64url')}`
}

describe.each(PROGRAMS)('the program that verifies a token with $name', (program) => {
  it.runIf(program.isHere)('accepts a token of Latchkey, and no other', async () => {
    await using folder = await program.folder()
    const file = join(folder.path, program.file)
    await writeFile(file, program.source())
    const env = {
      PATH: process.env.PATH,
      JWT_SECRET: Buffer.from(app.config.tokens.secret).toString('base64'),
      API_SERVER: app.config.tokens.issuer,
    }
    const [command = '', ...args] = program.commandOf(file)
    const verify = (given: string) =>
      new Promise<string>((resolve) =>
        execFile(command, [...args, given], { env }, (error, stdout) => resolve(error ? 'refused' : stdout)),
      )
    expect(await verify(token)).toBe(`${user.userid} admin\n`)
    const bad = [
      token.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
      await signToken(app, user, { claims: { iss: 'https://another.example' } }),
      await signToken(app, user, { claims: { exp: 1 } }),
      await signToken(app, user, { claims: { exp: undefined } }),
      await signToken(app, user, { claims: { nbf: 4_000_000_000 } }),
      await signToken(app, user, { header: { alg: 'HS256' } }),
      withHeader({ alg: 'HS256' }),
      ...(await Promise.all(program.refuses.map((claims) => signToken(app, user, { claims })))),
    ]
    expect(await Promise.all(bad.map(verify))).toEqual(bad.map(() => 'refused'))
  })
})

it('asks Latchkey for the user of a token', async () => {
  const source = (blocksOf('js')[0] ?? '').replace('http://localhost:8080', api)
  const findUser = new Function(`${source}; return findUser`)() as (authorization: string) => Promise<unknown>
  expect(await findUser(`Bearer ${token}`)).toMatchObject({ userid: user.userid, role: 'admin' })
  expect(await findUser('Bearer x')).toBeUndefined()
})

it.runIf(hasNginx)('guards another server with nginx', async () => {
  const guarded = createServer((_request, response) => response.end('guarded')).listen(0, '127.0.0.1')
  await once(guarded, 'listening')
  const port = await findFreePort()
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-nginx-'))
  await mkdir(join(folder.path, 'temp'))
  const server = (blocksOf('nginx')[0] ?? '')
    .replace('127.0.0.1:8081', `127.0.0.1:${port}`)
    .replace('127.0.0.1:9000', `127.0.0.1:${(guarded.address() as AddressInfo).port}`)
    .replace('http://127.0.0.1:8080', api)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (name) => `${name}_temp_path temp/${name};`,
  )
  await writeFile(
    join(folder.path, 'nginx.conf'),
    `daemon off; pid nginx.pid; error_log stderr; events {}\nhttp { access_log off; ${paths.join(' ')}\n${server} }`,
  )
  const nginx = spawn('nginx', ['-p', folder.path, '-c', 'nginx.conf', '-e', 'stderr'], { stdio: 'ignore' })
  try {
    const ask = (headers: Record<string, string> = {}) =>
      fetch(`http://127.0.0.1:${port}/page`, { headers }).catch(() => undefined)
    await expect.poll(async () => (await ask())?.status).toBe(401)
    const open = await ask({ authorization: `Bearer ${token}` })
    expect([open?.status, await open?.text()]).toEqual([200, 'guarded'])
    const refused = await ask({ authorization: 'Bearer x' })
    expect(refused?.status).toBe(401)
    expect(refused?.headers.get('www-authenticate')).toContain('Bearer')
  } finally {
    nginx.kill('SIGTERM')
    await once(nginx, 'exit')
    guarded.close()
  }
})
