import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openBrowser, openPage } from '../../test/browser.ts'
import { aUser, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

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

  it.each(['/docs', '/docs/'])('loads its own files only, below any path prefix: %s', async (url) => {
    const page = await app.server.inject({ url })
    expect(page.headers['content-security-policy']).toContain("default-src 'self'")
    expect(page.headers['content-security-policy']).toContain("frame-ancestors 'none'")
    const links = [...page.body.matchAll(/(?:src|href|data-document)="([^"]+)"/g)].map(
      ([, link = '']) => link,
    )
    expect(links.length).toBeGreaterThan(5)
    for (const link of links) {
      const { origin, pathname } = new URL(link, `https://example.com/prefix${url}`)
      expect(origin).toBe('https://example.com')
      expect(pathname).toMatch(/^\/prefix\//)
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
      expect((await app.server.inject({ url: `/docs/page/${name}` })).statusCode).toBe(404)
    },
  )

  it('has the demo login where there are demo users, by the name that a login takes', async () => {
    expect(await loginExampleOf(app)).toEqual(DEMO_LOGIN)
    const settings = { LOGIN_FIELD: 'username' }
    await using byUsername = await startApp({ database: app.database, settings })
    expect(await loginExampleOf(byUsername)).toEqual({ ...DEMO_LOGIN, username: 'user' })
  })

  it.each(['staging', 'prod'])('knows no demo login in %s', async (environment) => {
    await using other = await startApp({ database: app.database, settings: { APP_ENV: environment } })
    const { body } = await other.server.inject({ url: '/docs/json' })
    expect(body.includes(DEMO_LOGIN.password)).toBe(false)
  })
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

  it.each([
    { width: 1280, height: 900, colorScheme: 'light' },
    { width: 360, height: 740, colorScheme: 'dark' },
  ] as const)(
    'logs in, and calls with the token: $width px, $colorScheme',
    async ({ colorScheme, ...viewport }) => {
      const user = await aUser(app, { name: 'Ada' })
      await using watched = await openPage(browser, origin, { viewport, colorScheme })
      const { page, faults } = watched
      await page.goto(`${origin}/docs`)

      await open(page, '#operations-login-login')
      const body = page.locator('#operations-login-login textarea')
      expect(JSON.parse(await body.inputValue())).toEqual(DEMO_LOGIN)
      await body.fill(JSON.stringify({ username: user.email, password: PASSWORD }))
      await execute(page, '#operations-login-login')
      await expect.poll(() => page.locator('#session').textContent()).toBe('Logged in as Ada (user)')

      await open(page, '#operations-profile-getProfile')
      expect(await execute(page, '#operations-profile-getProfile')).toContain(user.userid)

      const root = page.locator(':root')
      expect(await root.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
      expect(await root.evaluate(({ classList }) => classList.contains('dark-mode'))).toBe(
        colorScheme === 'dark',
      )
      expect(faults).toEqual([])
    },
  )

  it('forgets the token when the user logs out', async () => {
    const user = await aUser(app, { name: 'Ada' })
    await using watched = await openPage(browser, origin)
    const { page } = watched
    await page.goto(`${origin}/docs`)
    await open(page, '#operations-login-login')
    const credentials = JSON.stringify({ username: user.email, password: PASSWORD })
    await page.locator('#operations-login-login textarea').fill(credentials)
    await execute(page, '#operations-login-login')
    await open(page, '#operations-login-logout')
    await execute(page, '#operations-login-logout')
    await expect.poll(() => page.locator('#session').textContent()).toBe('Not logged in')
    await open(page, '#operations-profile-getProfile')
    expect(await execute(page, '#operations-profile-getProfile')).toContain('invalid-token')
  })
})

const open = (page: Page, operation: string) => page.locator(`${operation} .opblock-summary-control`).click()

/** Sends the request of an opened operation; returns the body of the response. */
async function execute(page: Page, operation: string): Promise<string> {
  await page.locator(`${operation} .execute`).click()
  return page.locator(`${operation} .live-responses-table`).innerText()
}
