import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage, type RequestListener, type Server } from 'node:http'
import type https from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { generate } from 'selfsigned'
import { runForBytes } from '../run-in-process.ts'

export const LAUNCHER = join(import.meta.dirname, '../../bin/scriptify')
export const SECRET = 'eyJhbGciOiJIUzUxMiJ9.secret-part'
export const folder = mkdtempSync(join(tmpdir(), 'scriptify-endpoint-'))
/** The environment without the proxies of this machine. */
export const ENV = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/_proxy$/i.test(name)))

/** Starts `scriptify endpoint`; an exit by a signal becomes 128 + its number, as in a shell. */
export function start(
  args: string[],
  { env = {}, input, cwd }: { env?: NodeJS.ProcessEnv; input?: string | Buffer; cwd?: string } = {},
) {
  const child = spawn(process.execPath, [LAUNCHER, 'endpoint', ...args], { cwd, env: { ...ENV, ...env } })
  // A server that refuses a body does not read it.
  child.stdin.on('error', () => undefined)
  if (input !== undefined) child.stdin.end(input)
  const code = once(child, 'exit').then(([exit, signal]) => exit ?? (signal === 'SIGINT' ? 130 : -1))
  return { child, code }
}

/** Runs it to its end without a separate process. */
export async function endpoint(
  args: string[],
  { env = {}, ...options }: { env?: NodeJS.ProcessEnv; input?: string | Buffer; isTTY?: boolean } = {},
) {
  const ended = await runForBytes(['endpoint', ...args], { ...options, env: { ...ENV, ...env } })
  return { ...ended, stdout: ended.bytes.toString() }
}

/** Runs it to its end as a process: Node reads NODE_EXTRA_CA_CERTS when it starts. */
export async function endpointAsProcess(args: string[], env: NodeJS.ProcessEnv = {}) {
  const { child, code } = start(args, { env, input: '' })
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)])
  return { code: await code, stdout, stderr }
}

export interface Listening extends AsyncDisposable {
  url: string
  port: number
}

export async function listen(
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

export const serve = (listener: RequestListener, host?: string) =>
  listen(http.createServer(listener), 'http', host)

/** A request as a server received it, header lines in their order and case. */
export interface Seen {
  method: string | undefined
  url: string | undefined
  headers: [string, string][]
  body: string
}

export async function see(request: IncomingMessage): Promise<Seen> {
  const { rawHeaders, method, url } = request
  const headers = rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name, Buffer.from(rawHeaders[index + 1] ?? '', 'latin1').toString()]] : [],
  )
  return { method, url, headers, body: await text(request) }
}

export const echo: RequestListener = async (request, response) => {
  response.setHeader('content-type', 'application/json').end(JSON.stringify(await see(request)))
}

export const seenIn = (stdout: string): Seen => JSON.parse(stdout)
export const valuesOf = (seen: Seen, name: string) =>
  seen.headers.filter(([given]) => given.toLowerCase() === name.toLowerCase()).map(([, value]) => value)

/** A key, its certificate, and the environment that trusts it. */
export async function aCertificate(host: string) {
  const { private: key, cert } = await generate([{ name: 'commonName', value: host }], {
    // A key of RSA takes a hundred times as long.
    keyType: 'ec',
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
  })
  const path = join(folder, `${host}.pem`)
  writeFileSync(path, cert)
  return { key, cert, env: { NODE_EXTRA_CA_CERTS: path } }
}
