import { hash } from 'node:crypto'
import { aUser } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startApp, type TestApp } from './support/start-app.ts'

const DEMO_LOGIN = { username: 'user@example.com', password: '!P4ssw0rdstr!' }

const loginExampleOf = async ({ server }: TestApp): Promise<unknown> => {
  const { paths } = (await server.inject({ url: '/docs/json' })).json()
  return paths['/login'].post.requestBody.content['application/json'].example
}

describe('the page at /docs', () => {
  let app: TestApp
  beforeAll(async () => {
    app = await startApp()
  })
  afterAll(() => app[Symbol.asyncDispose]())

  it('loads its own files only, below any path prefix', async () => {
    const { headers } = await app.server.inject({ url: '/docs' })
    expect(new URL(String(headers.location), 'https://example.com/prefix/docs').pathname).toBe(
      '/prefix/docs/',
    )
    const page = await app.server.inject({ url: '/docs/' })
    expect(page.headers['content-security-policy']).toContain("default-src 'self'")
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    const links = [...page.body.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, link = '']) => link)
    expect(links.length).toBeGreaterThan(5)
    for (const link of links) {
      const { origin, pathname } = new URL(link, 'https://example.com/prefix/docs/')
      expect(origin).toBe('https://example.com')
      const answer = await app.server.inject({ url: pathname.slice('/prefix'.length) })
      expect(answer.statusCode, link).toBe(200)
    }
  })

  it('tries requests at the address where it was opened, whatever API_SERVER says', async () => {
    const { servers } = (await app.server.inject({ url: '/docs/json' })).json()
    const opened = 'http://127.0.0.1:18080/docs/json'
    expect(servers.map(({ url }: { url: string }) => new URL(url, opened).href)).toEqual([
      'http://127.0.0.1:18080/',
    ])
    const document = (await app.server.inject({ url: '/openapi.json' })).json()
    expect(document.servers).toEqual([{ url: app.config.tokens.issuer }])
  })

  it.each(['../app.ts', '..%2fapp.ts', 'swagger-ui-bundle.js.map', 'toString'])(
    'has no other file: %s',
    async (name) => {
      expect((await app.server.inject({ url: `/docs/${name}` })).statusCode).toBe(404)
    },
  )

  it('has the demo login where there are demo users, by the name that a login takes', async () => {
    expect(await loginExampleOf(app)).toEqual(DEMO_LOGIN)
    const settings = { LOGIN_FIELD: 'username' }
    await using byUsername = await startApp({ database: app.database, settings })
    expect(await loginExampleOf(byUsername)).toEqual({ ...DEMO_LOGIN, username: 'user' })
  })

  it.each(['staging', 'prod'])(
    'is off in %s by default, and knows no demo login there',
    async (environment) => {
      const start = (settings: Record<string, string>) =>
        startApp({ database: app.database, settings: { APP_ENV: environment, ...settings } })
      await using other = await start({})
      for (const path of ['/docs', '/docs/', '/docs/json', '/docs/swagger-ui-bundle.js'])
        expect((await other.server.inject(path)).statusCode, path).toBe(404)
      expect((await other.server.inject('/openapi.json')).statusCode).toBe(200)
      await using switchedOn = await start({ DOCS_PAGE: 'on' })
      const { statusCode, body } = await switchedOn.server.inject('/docs/json')
      expect(statusCode).toBe(200)
      expect(body.includes(DEMO_LOGIN.password)).toBe(false)
    },
  )
})

describe.skipIf(!hasBrowser)('in a browser', () => {
  let app: TestApp
  let browser: Browser
  let origin: string
  beforeAll(async () => {
    app = await startApp()
    origin = await app.server.listen({ host: '127.0.0.1', port: 0 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await app[Symbol.asyncDispose]()
  })

  it('logs in with what the page proposes, and loads nothing from elsewhere', async () => {
    await aUser(app, { email: DEMO_LOGIN.username, passwordHash: hash('sha1', DEMO_LOGIN.password) })
    await using watched = await openPage(browser, origin)
    const { page, faults } = watched
    await page.goto(`${origin}/docs`)
    const login = page.locator('#operations-login-login')
    await login.locator('.opblock-summary-control').click()
    expect(JSON.parse(await login.locator('textarea').inputValue())).toEqual(DEMO_LOGIN)
    await login.locator('.execute').click()
    await expect.poll(() => login.locator('.live-responses-table').innerText()).toContain('"token"')
    expect(faults).toEqual([])
  })
})
