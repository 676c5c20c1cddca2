import { execFile, execFileSync, spawn } from 'node:child_process'
import { createHmac, createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { generatePrivateKey } from '@latchkey/shared/secrets/private-key.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, signToken, startApp, type TestApp } from './support/start-app.ts'

const PAGE = await readFile(join(import.meta.dirname, '../../../docs/how-to/use-from-your-app.md'), 'utf8')
const readExample = (name: string): Promise<string> =>
  readFile(join(import.meta.dirname, '../../../docs/examples/verify-tokens', name), 'utf8')
/** The folder of the source of Debian's golang-github-golang-jwt-jwt-dev. */
const GOPATH = '/usr/share/gocode'

const blocksOf = (language: string): string[] =>
  [...PAGE.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, 'gm'))].map(
    ([, block = '']) => block,
  )

const [PEM, OTHER_PEM] = [generatePrivateKey('ed25519'), generatePrivateKey('ed25519')]

let app: TestApp
let api: string
let user: TestUser
let token: string
/** The same on the same database, at its own API_SERVER, signing with a key. */
let keyApp: TestApp
let keyToken: string
beforeAll(async () => {
  app = await startApp()
  api = await app.server.listen({ host: '127.0.0.1', port: 0 })
  user = await aUser(app, { role: 'admin' })
  token = await aToken(app, user)
  keyApp = await startAtIssuer({ JWT_ALGORITHM: 'EdDSA', JWT_PRIVATE_KEY: PEM })
  keyToken = await aToken(keyApp, user)
})
afterAll(async () => {
  await keyApp[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** An app that listens where its issuer says, where verifiers look for its keys. */
async function startAtIssuer(settings: Record<string, string>): Promise<TestApp> {
  const port = await findFreePort()
  const API_SERVER = `http://127.0.0.1:${port}`
  const started = await startApp({ database: app.database, settings: { API_SERVER, ...settings } })
  await started.server.listen({ host: '127.0.0.1', port })
  return started
}

const required = { requiredBy: 'REQUIRE_PROGRAMS' }
const hasNginx = isInstalled('nginx', { args: ['-v'], ...required })
const hasHaproxy = isInstalled('haproxy', { args: ['-v'], ...required })
const hasPhp = isInstalled('php', required)
const GOLANG_JWT = `${GOPATH}/src/github.com/golang-jwt/jwt`
const hasGo = isInstalled('go', { args: ['version'], ...required }) && existsSync(GOLANG_JWT)
if (!hasGo && process.env.REQUIRE_PROGRAMS === '1')
  throw new Error(`REQUIRE_PROGRAMS=1, but there is no ${GOLANG_JWT}; install golang-jwt`)

/** The block of a page in a language that contains a text. */
const blockWith = (language: string, text: string): string =>
  blocksOf(language).find((block) => block.includes(text)) ?? ''

/** Debian's, which has the packages of Debian. */
const PYTHON = '/usr/bin/python3'
const hasPython = isInstalled(PYTHON, { args: ['-c', 'import jwt, cryptography'], ...required })

interface Program {
  name: string
  isHere: boolean
  /** The key with which it verifies. */
  with: 'secret' | 'keys'
  /** The folder of its file: inside the project for what needs its packages. */
  parent: string
  file: string
  source: () => Promise<string>
  commandOf: (file: string) => string[]
  /** Claims that it refuses beside those that all refuse. */
  refuses: Record<string, unknown>[]
}

const AUDIENCE = { aud: 'https://another.example' }
const node = { isHere: true, parent: import.meta.dirname, file: 'verify.mjs', refuses: [] }
const php = { isHere: hasPhp, parent: tmpdir(), file: 'verify.php', refuses: [AUDIENCE] }
const go = { isHere: hasGo, parent: tmpdir(), file: 'main.go', refuses: [] }

function buildGo(file: string): string[] {
  const env = { ...process.env, GO111MODULE: 'off', GOPATH, GOCACHE: join(tmpdir(), 'latchkey-go-cache') }
  const program = file.replace('.go', '')
  // Once for all tokens, which `go run` would link again for each.
  execFileSync('go', ['build', '-o', program, file], { env })
  return [program]
}
/** Debian has v4, without modules. */
const withDebianVersion = (source: string): string => source.replace('jwt/jwt/v5', 'jwt/jwt')

/** The commands that run each program on a token. */
const PROGRAMS: Program[] = [
  {
    ...node,
    name: 'Node and jose',
    with: 'secret',
    source: () => readExample('verify-by-secret.mjs'),
    commandOf: (file) => [process.execPath, file],
  },
  {
    ...php,
    name: 'PHP',
    with: 'secret',
    source: () => readExample('verify-by-secret.php'),
    commandOf: (file) => ['php', file],
  },
  {
    ...node,
    name: 'Node and jose',
    with: 'keys',
    source: async () => blockWith('js', 'createRemoteJWKSet'),
    commandOf: (file) => [process.execPath, file],
  },
  {
    ...php,
    name: 'PHP',
    with: 'keys',
    source: () => readExample('verify.php'),
    commandOf: (file) => ['php', file],
  },
  {
    ...go,
    name: 'Go and golang-jwt',
    with: 'keys',
    source: async () => withDebianVersion(await readExample('verify.go')),
    commandOf: buildGo,
  },
  {
    name: 'Python and PyJWT',
    isHere: hasPython,
    parent: tmpdir(),
    file: 'verify.py',
    with: 'keys',
    source: () => readExample('verify.py'),
    commandOf: (file) => [PYTHON, file],
    refuses: [AUDIENCE],
  },
]

/** A token under a header that its signature does not fit: an HMAC with what a verifier has. */
function withMac(of: string, header: object, secret: string | Uint8Array): string {
  const [, payload = ''] = of.split('.')
  const signed = `${Buffer.from(JSON.stringify(header)).toString('base64url')}.${payload}`
  return `${signed}.${createHmac('sha512', secret).update(signed).digest('base64url')}`
}

/** Returns what signs the tokens of one app, and what only seems to. */
function signerOf(program: Program) {
  if (program.with === 'secret') {
    const forge = () => [withMac(token, { alg: 'HS256' }, app.config.tokens.secret)]
    return { app, header: {}, key: app.config.tokens.secret, forge }
  }
  const key = createPrivateKey(PEM)
  const header = { alg: 'EdDSA', kid: decodeProtectedHeader(keyToken).kid }
  const publicKey = createPublicKey(key)
  const spki = publicKey.export({ type: 'spki', format: 'pem' })
  const forge = (valid: string) => [
    ...[{ alg: 'HS512' }, { alg: 'HS512', kid: header.kid }, header].flatMap((each) => [
      withMac(valid, each, spki),
      withMac(valid, each, Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')),
      // A token that Latchkey accepts, as long as JWT_SECRET is set.
      withMac(valid, each, keyApp.config.tokens.secret),
    ]),
    withMac(valid, { alg: 'none', kid: header.kid }, '').replace(/[^.]*$/, ''),
  ]
  return { app: keyApp, header, key, forge }
}

/** Returns what a program prints, or `refused` where it fails. */
const runProgram = (command: string, args: string[], env: Record<string, string | undefined>) =>
  new Promise<string>((resolve) =>
    execFile(command, args, { env }, (error, stdout) => resolve(error ? 'refused' : stdout)),
  )

describe.each(PROGRAMS)('the program that verifies a token with the $with, $name', (program) => {
  it.runIf(program.isHere)('accepts a token of Latchkey, and no other', async () => {
    const { app, header, key, forge } = signerOf(program)
    await using folder = await mkdtempDisposable(join(program.parent, '.generated-'))
    const file = join(folder.path, program.file)
    await writeFile(file, await program.source())
    const { issuer, secret } = app.config.tokens
    const env = {
      PATH: process.env.PATH,
      ...(program.with === 'secret' ? { JWT_SECRET: Buffer.from(secret).toString('base64') } : {}),
      API_SERVER: issuer,
    }
    const [command = '', ...args] = program.commandOf(file)
    const verify = (given: string) => runProgram(command, [...args, given], env)
    const sign = (claims: Record<string, unknown>) => signToken(app, user, { claims, header, key })
    const valid = program.with === 'secret' ? token : keyToken
    for (const given of [valid, await sign({})]) expect(await verify(given)).toBe(`${user.userid} admin\n`)
    const bad = [
      valid.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
      ...(await Promise.all(
        [
          { iss: 'https://another.example' },
          { exp: 1 },
          { exp: undefined },
          { nbf: 4_000_000_000 },
          ...program.refuses,
        ].map(sign),
      )),
      await signToken(app, user, { header: { alg: 'HS256' } }),
      // The kid of the key, by another one.
      await signToken(app, user, { header: { alg: 'EdDSA', ...header }, key: createPrivateKey(OTHER_PEM) }),
      ...forge(valid),
    ]
    expect(await Promise.all(bad.map(verify))).toEqual(bad.map(() => 'refused'))
  })
})

it('asks Latchkey for the user of a token', async () => {
  const source = blockWith('js', 'findUser').replace('http://localhost:8080', api)
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

/** The programs that accept any kind of key. */
const OF_ANY_KEY = PROGRAMS.filter((program) => program.with === 'keys' && /jose|PyJWT/.test(program.name))

describe.each(['es256', 'rs256'] as const)('a key of the kind %s', (kind) => {
  const algorithm = kind.toUpperCase()
  it.each(OF_ANY_KEY)('is verified with $name too', async (program) => {
    if (!program.isHere) return
    const JWT_PRIVATE_KEY = generatePrivateKey(kind)
    await using own = await startAtIssuer({ JWT_ALGORITHM: algorithm, JWT_PRIVATE_KEY })
    const given = await aToken(own, user)
    await using folder = await mkdtempDisposable(join(program.parent, '.generated-'))
    const file = join(folder.path, program.file)
    await writeFile(file, await program.source())
    const [command = '', ...args] = program.commandOf(file)
    const env = { PATH: process.env.PATH, API_SERVER: own.config.tokens.issuer }
    const verify = (text: string) => runProgram(command, [...args, text], env)
    expect(await verify(given)).toBe(`${user.userid} admin\n`)
    const { kid } = decodeProtectedHeader(given)
    const stranger = createPrivateKey(generatePrivateKey(kind))
    expect(await verify(await signToken(own, user, { header: { alg: algorithm, kid }, key: stranger }))).toBe(
      'refused',
    )
  })
})

it.runIf(hasHaproxy)('verifies at the edge with HAProxy', async () => {
  const key = generatePrivateKey('es256')
  await using own = await startAtIssuer({
    JWT_ALGORITHM: 'ES256',
    JWT_PRIVATE_KEY: key,
    JWT_PRIVATE_KEY_NEXT: generatePrivateKey('ed25519'),
    JWT_PRIVATE_KEY_PREVIOUS: generatePrivateKey('es256'),
  })
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-haproxy-'))
  const program = join(folder.path, 'keys.mjs')
  await writeFile(program, await readExample('haproxy-keys.mjs'))
  const { issuer, secret } = own.config.tokens
  expect(await runProgram(process.execPath, [program, folder.path], { API_SERVER: issuer })).toBe('')

  const guarded = createServer(({ headers }, response) =>
    response.end(`${headers['x-user']} ${headers['x-role']}`),
  ).listen(0, '127.0.0.1')
  await once(guarded, 'listening')
  const port = await findFreePort()
  const config = (await readExample('haproxy.cfg'))
    .replace('127.0.0.1:8082', `127.0.0.1:${port}`)
    .replace('127.0.0.1:9000', `127.0.0.1:${(guarded.address() as AddressInfo).port}`)
    .replace('http://localhost:8080', issuer)
    .replaceAll('/etc/haproxy/latchkey', folder.path)
  const timeouts = ['client', 'server', 'connect'].map((name) => `  timeout ${name} 5s`)
  await writeFile(join(folder.path, 'haproxy.cfg'), `defaults\n${timeouts.join('\n')}\n\n${config}`)
  const haproxy = spawn('haproxy', ['-db', '-f', join(folder.path, 'haproxy.cfg')], { stdio: 'inherit' })
  try {
    const ask = async (headers: Record<string, string> = {}) => {
      const response = await fetch(`http://127.0.0.1:${port}/page`, { headers }).catch(() => undefined)
      return response?.status === 200 ? response.text() : response?.status
    }
    await expect.poll(() => ask()).toBe(401)
    const valid = await aToken(own, user)
    const spoofed = { 'x-role': 'root', 'x-user': 'root' }
    expect(await ask({ ...bearer(valid), ...spoofed })).toBe(`${user.userid} admin`)
    const previous = own.config.tokens.previousKey?.key
    const { kid } = decodeProtectedHeader(valid)
    const sign = (claims: Record<string, unknown>, signer?: KeyObject) =>
      signToken(own, user, { claims, header: { alg: 'ES256', kid }, key: signer ?? createPrivateKey(key) })
    expect(await ask(bearer(await sign({}, previous))), 'of the previous key').toBe(`${user.userid} admin`)
    const spki = createPublicKey(key).export({ type: 'spki', format: 'pem' })
    const bad = [
      'x',
      valid.replace(/.$/, (last) => (last === 'A' ? 'Q' : 'A')),
      await sign({ iss: 'https://another.example' }),
      await sign({ exp: 1 }),
      await sign({ exp: undefined }),
      await sign({ nbf: 4_000_000_000 }),
      await sign({}, createPrivateKey(generatePrivateKey('es256'))),
      await signToken(own, user),
      ...[spki, secret].flatMap((each) =>
        ['HS512', 'HS256', 'ES256'].map((alg) => withMac(valid, { alg, kid }, each)),
      ),
      withMac(valid, { alg: 'none' }, '').replace(/[^.]*$/, ''),
    ]
    for (const each of bad) expect(await ask({ ...bearer(each), ...spoofed }), each).toBe(401)
  } finally {
    haproxy.kill('SIGTERM')
    await once(haproxy, 'exit')
    guarded.close()
  }
})
