import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { type StartAppOptions, startApp, type TestApp } from '@latchkey/auth-api/test/support/start-app.ts'
import getPort from 'get-port'

const SOURCES = join(import.meta.dirname, '../src')

/** A page that shows who is logged in; `changes` has what its client told of. */
const PAGE = `<!doctype html>
<html lang="en"><title>App</title><p id="user"></p>
<script type="module">
  import { createClient } from '/client/client.js'
  import * as passkeys from '/client/passkeys.js'
  const options = new URLSearchParams(location.search)
  const client = createClient({ url: options.get('url') ?? location.origin, session: options.get('session') ?? 'cookie' })
  const show = () => (document.querySelector('#user').textContent = client.user?.name ?? 'nobody')
  const changes = []
  client.onChange((user, { reason }) => {
    changes.push(reason)
    show()
  })
  Object.assign(globalThis, { client, changes, passkeys })
  show()
</script>`

export interface Site extends AsyncDisposable {
  app: TestApp
  /** The origin of the page, which is also one of the API. */
  origin: string
  /** Another origin of the API, on the same site. */
  api: string
  /** An origin of the API on another site, which browsers give no cookie. */
  otherSite: string
  /** An origin of the page that the API does not know. */
  foreign: string
  /** The requests to the API, as `POST /login`, in order. */
  sent: string[]
  /** Drops the answer to a request that has been answered, where it returns true. */
  loses: (sent: string) => boolean
}

/** Starts auth-api behind a server that has a page with the client too, and may lose answers. */
export async function startSite(options: StartAppOptions = {}): Promise<Site> {
  const ports = [await getPort(), await getPort(), await getPort()] as const
  const [own, other, foreign] = ports
  const origin = `http://localhost:${own}`
  const settings = { CORS_ORIGINS: origin, PASSKEY_ORIGINS: origin, ...options.settings }
  const app = await startApp({ ...options, settings })
  const target = new URL(await app.server.listen({ host: '127.0.0.1', port: 0 }))
  const site = { sent: [] as string[], loses: (_sent: string) => false }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(incoming.url ?? '/', origin)
    if (pathname === '/') return void response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE)
    const [, file] = /^\/client\/(\w+\.js)$/.exec(pathname) ?? []
    if (!file) return forward(incoming, response)
    response.writeHead(200, { 'content-type': 'text/javascript' }).end(await readFile(join(SOURCES, file)))
  }

  function forward(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, url, headers } = incoming
    const sent = `${method} ${url}`
    if (method !== 'OPTIONS') site.sent.push(sent)
    const onward = request(
      { host: target.hostname, port: target.port, method, path: url, headers },
      (answered) => {
        if (method !== 'OPTIONS' && site.loses(sent)) {
          // The service has done all that it does; its answer is on its way.
          answered.resume().once('end', () => incoming.socket.destroy())
          return
        }
        response.writeHead(answered.statusCode ?? 502, answered.headers)
        answered.pipe(response)
      },
    )
    onward.once('error', () => incoming.socket.destroy())
    incoming.pipe(onward)
  }

  const servers = await Promise.all(
    ports.map(async (port) => {
      const server = createServer((incoming, response) => void answer(incoming, response))
      await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
      return server
    }),
  )
  return Object.assign(site, {
    app,
    origin,
    api: `http://localhost:${other}`,
    otherSite: `http://127.0.0.1:${own}`,
    foreign: `http://localhost:${foreign}`,
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections()
        server.close()
      }
      await app[Symbol.asyncDispose]()
    },
  })
}
