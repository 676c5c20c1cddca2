import { createHash, randomBytes } from 'node:crypto'
import type { TestApp } from './start-app.ts'

export const APP_PAGE = 'https://app.example.com/login'

/** The page that begins a login: it alone knows the verifier. */
export const aPage = () => {
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(8).toString('base64url')
  return { verifier, state, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** A browser with the cookies of every host, as `inject` and `fetch` need them. */
export function aBrowser(app: Pick<TestApp, 'server'>) {
  const jar = new Map<string, Map<string, string>>()
  const cookiesOf = (host: string) =>
    jar.get(host) ?? jar.set(host, new Map()).get(host) ?? new Map<string, string>()
  const header = (host: string) => [...cookiesOf(host)].map(([name, value]) => `${name}=${value}`).join('; ')

  function keep(host: string, given: readonly string[]): void {
    for (const cookie of given) {
      const [pair = ''] = cookie.split(';', 1)
      const at = pair.indexOf('=')
      const isOver = /max-age=0|expires=Thu, 01 Jan 1970/i.test(cookie)
      if (isOver) cookiesOf(host).delete(pair.slice(0, at))
      else cookiesOf(host).set(pair.slice(0, at), pair.slice(at + 1))
    }
  }

  /** Requests a path of Latchkey; returns the answer. */
  async function visit(path: string) {
    const response = await app.server.inject({ url: path, headers: { cookie: header('latchkey') } })
    keep('latchkey', [response.headers['set-cookie'] ?? []].flat())
    return response
  }

  /** Follows a provider's redirects until it sends the browser back; returns that address. */
  async function atProvider(address: string): Promise<URL> {
    let url = new URL(address)
    for (let hop = 0; hop < 12; hop++) {
      const response = await fetch(url, { redirect: 'manual', headers: { cookie: header(url.host) } })
      keep(url.host, response.headers.getSetCookie())
      const location = response.headers.get('location')
      if (!location) throw new Error(`${url} was answered ${response.status}: ${await response.text()}`)
      url = new URL(location, url)
      if (url.pathname.startsWith('/login/with/')) return url
    }
    throw new Error('The provider sends the browser round and round')
  }

  return {
    jar,
    cookies: () => cookiesOf('latchkey'),
    visit,
    atProvider,

    /** Begins a login; returns the address of the provider, or that of the error. */
    async begin(provider: string, page = aPage(), query: Record<string, string> = {}) {
      const given = { return_to: APP_PAGE, state: page.state, code_challenge: page.challenge, ...query }
      const response = await visit(`/login/with/${provider}?${new URLSearchParams(given)}`)
      return { page, response, location: response.headers.location ?? '' }
    },

    /** Logs in with a provider; returns the address of the page to which the browser comes back. */
    async logIn(provider: string, page = aPage()) {
      const { location } = await this.begin(provider, page)
      if (!location) throw new Error('The login was refused')
      const callback = await atProvider(location)
      const response = await visit(callback.pathname + callback.search)
      return { page, callback, response, back: new URL(response.headers.location ?? 'about:blank') }
    },
  }
}
