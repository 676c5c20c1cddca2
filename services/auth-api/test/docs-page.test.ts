import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openBrowser, openPage } from '../../test/browser.ts'
import { aUser, PASSWORD, startApp, type TestApp, type TestUser } from './support/start-app.ts'

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

  it('logs in, calls with the token and logs out, on a narrow dark screen and on a wide light one', async () => {
    const user = await aUser(app, { name: 'Ada' })
    const narrow = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const
    await using watched = await openPage(browser, origin, narrow)
    const { page, faults } = watched
    await page.goto(`${origin}/docs`)

    await open(page, LOGIN)
    const body = page.locator(`${LOGIN} textarea`)
    expect(JSON.parse(await body.inputValue())).toEqual(DEMO_LOGIN)
    await body.fill(JSON.stringify({ username: user.email, password: PASSWORD }))
    await open(page, LOGOUT)
    await open(page, PROFILE)
    await expectLogIn(page, user)
    await expectLook(page, { isDark: true })
    expect(faults).toEqual([])

    // The same page, which follows its screen: to load it takes most of the time.
    await page.setViewportSize({ width: 1280, height: 900 })
    await page.emulateMedia({ colorScheme: 'light' })
    await expectLook(page, { isDark: false })
    await execute(page, LOGOUT)
    await expect.poll(() => sessionOf(page)).toBe('Not logged in')
    await execute(page, PROFILE)
    await expect.poll(() => answerOf(page, PROFILE)).toContain('invalid-token')
    await expectLogIn(page, user)
    await expectLook(page, { isDark: false })
    expect(faults, 'the refusal of the logged-out call').toEqual([expect.stringContaining('401')])
  })
})

const LOGIN = '#operations-login-login'
const LOGOUT = '#operations-login-logout'
const PROFILE = '#operations-profile-getProfile'

async function expectLogIn(page: Page, user: TestUser): Promise<void> {
  await execute(page, LOGIN)
  await expect.poll(() => sessionOf(page)).toBe('Logged in as Ada (user)')
  await execute(page, PROFILE)
  await expect.poll(() => answerOf(page, PROFILE)).toContain(user.userid)
}

/** The colours of the screen, and nothing that is wider. */
async function expectLook(page: Page, { isDark }: { isDark: boolean }): Promise<void> {
  const root = page.locator(':root')
  await expect.poll(() => root.evaluate(({ classList }) => classList.contains('dark-mode'))).toBe(isDark)
  expect(await root.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)).toBe(0)
}

const open = (page: Page, operation: string) => page.locator(`${operation} .opblock-summary-control`).click()

/** Sends the request of an opened operation. */
const execute = (page: Page, operation: string) => page.locator(`${operation} .execute`).click()

/** The body of the last response. */
const answerOf = (page: Page, operation: string) =>
  page.locator(`${operation} .live-responses-table`).innerText()

const sessionOf = (page: Page) => page.locator('#session').textContent()
