import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import getPort from 'get-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bearer, startApp, type TestApp } from './support/start-app.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const LIFETIME_SECONDS = 3_600
const REFRESH = '**/refreshtoken'

describe.skipIf(!hasBrowser)('the session of a page', () => {
  let browser: Browser
  let app: TestApp
  let origin = ''
  beforeAll(async () => {
    browser = await openBrowser()
    app = await startApp()
    origin = await listen(app)
  })
  afterEach(() => app.setClock(undefined))
  afterAll(async () => {
    await browser?.close()
    await app[Symbol.asyncDispose]()
  })

  async function listen({ server }: TestApp): Promise<string> {
    const port = await getPort()
    await server.listen({ host: '127.0.0.1', port })
    return `http://localhost:${port}`
  }

  const onPage = (page: Page, title: string) =>
    page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  const says = (page: Page, text: string) => page.getByText(text).first().waitFor()
  const tokenOf = async (page: Page): Promise<string | undefined> =>
    JSON.parse((await page.evaluate('localStorage.getItem("latchkey " + location.origin + "/")')) ?? '{}')
      .token
  const statusOf = async (token = '') =>
    (await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode

  /** A page with a session, whose clock stands still but for `pass`. */
  async function openLoggedIn({ on = app, at = origin } = {}) {
    const user = await aUser(on)
    const { page } = await openPage(browser, at)
    const sent: string[] = []
    page.context().on('request', (request) => {
      if (request.url().endsWith('/refreshtoken')) sent.push(request.url())
    })
    const start = Date.now()
    await page.clock.install({ time: start })
    await page.goto(`${at}/account/`)
    await page.getByLabel('E-mail', { exact: true }).fill(user.email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await onPage(page, 'Profile')
    let passedMs = (await page.evaluate(() => Date.now())) - start + 60_000
    await page.clock.pauseAt(start + passedMs)
    const pass = async (ms: number) => {
      passedMs += ms
      on.setClock(start + passedMs)
      await page.clock.fastForward(ms)
    }
    return { page, user, start, pass, refreshes: () => sent.length }
  }

  /** The page's clock runs on, second by second. */
  async function runSeconds(page: Page, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await page.clock.runFor(1_000)
      // A request that a timer has sent is answered, or refused, before the next second.
      await page.evaluate(() => fetch('/health/live').then(({ status }) => status))
    }
  }

  it('lasts when the browser is closed and opened again after a week, and no script reads what it lasts by', async () => {
    const { page, start } = await openLoggedIn()
    const storageState = await page.context().storageState()
    const [cookie] = storageState.cookies
    expect(cookie).toMatchObject({ name: 'latchkey_refresh', httpOnly: true, sameSite: 'Lax', path: '/' })
    expect(await page.evaluate('document.cookie')).toBe('')
    expect(JSON.stringify(storageState.origins)).not.toContain(cookie?.value)
    await page.context().close()

    app.setClock(start + 7 * DAY_MS)
    const { page: reopened, faults } = await openPage(browser, origin, { storageState })
    await reopened.clock.install({ time: start + 7 * DAY_MS })
    await reopened.goto(`${origin}/account/#security`)
    await onPage(reopened, 'Security')
    expect(await statusOf(await tokenOf(reopened))).toBe(200)
    expect(faults).toEqual([])
  })

  it('is refreshed once for all tabs', async () => {
    const { page, pass, refreshes } = await openLoggedIn()
    const tabs = [page]
    for (const hash of ['security', 'devices']) {
      const tab = await page.context().newPage()
      await tab.goto(`${origin}/account/#${hash}`)
      await onPage(tab, hash === 'security' ? 'Security' : 'Devices')
      tabs.push(tab)
    }
    for (let round = 1; round <= 3; round++) {
      const token = await tokenOf(page)
      await pass((LIFETIME_SECONDS - 30) * 1000)
      await expect
        .poll(async () => {
          await pass(1_000)
          return tokenOf(page)
        })
        .not.toBe(token)
      for (const tab of tabs) await tab.reload()
      for (const tab of tabs) await tab.getByRole('heading', { level: 1 }).waitFor()
      expect(refreshes()).toBe(round)
    }
    expect(await statusOf(await tokenOf(page))).toBe(200)
  })

  it('goes on after the answer to a refresh was lost', async () => {
    const { page, user, pass } = await openLoggedIn()
    const first = await tokenOf(page)
    let lost = 0
    await page.route(
      REFRESH,
      async (route) => {
        await route.fetch()
        await route.abort()
        lost++
      },
      { times: 1 },
    )
    await pass((LIFETIME_SECONDS - 45) * 1000)
    await expect.poll(() => lost).toBe(1)
    await expect
      .poll(async () => {
        await pass(5_000)
        return tokenOf(page)
      })
      .not.toBe(first)
    expect(await statusOf(await tokenOf(page))).toBe(200)
    await pass(20_000)
    await page.getByRole('link', { name: 'Security', exact: true }).click()
    await onPage(page, 'Security')
    const reuses = app.logLines.filter((line) => line.includes('token.reused') && line.includes(user.userid))
    expect(reuses).toEqual([])
  })

  it('sends nothing while it waits for the last minute of a token of thirty days', async () => {
    await using long = await startApp({
      database: app.database,
      settings: {
        TOKEN_LIFETIME: String((30 * DAY_MS) / 1000),
        SESSION_IDLE: String((60 * DAY_MS) / 1000),
        SESSION_LIFETIME: '0',
      },
    })
    const { page, pass, refreshes } = await openLoggedIn({ on: long, at: await listen(long) })
    const token = await tokenOf(page)
    await runSeconds(page, 5)
    for (let day = 0; day < 29; day++) await pass(DAY_MS)
    await runSeconds(page, 5)
    expect(refreshes()).toBe(0)
    // To between 40 s and 48 s before its end: a client refreshes between 60 s and 48 s before.
    await pass(DAY_MS - 110_000)
    await expect.poll(() => tokenOf(page)).not.toBe(token)
    expect(refreshes()).toBe(1)
  })

  it('refreshes at once when the machine is online again', async () => {
    const { page, pass } = await openLoggedIn()
    const token = await tokenOf(page)
    await page.context().setOffline(true)
    const failed: string[] = []
    page.on('requestfailed', (request) => failed.push(request.url()))
    await pass((LIFETIME_SECONDS - 30) * 1000)
    // Three attempts fail, so the next one would come late.
    await expect
      .poll(async () => {
        await pass(5_000)
        return failed.length
      })
      .toBeGreaterThan(2)
    await page.context().setOffline(false)
    await expect
      .poll(async () => {
        await page.clock.runFor(1)
        return tokenOf(page)
      })
      .not.toBe(token)
  })

  it('lasts where the machine sleeps beyond the token, and ends where the server says so', async () => {
    const { page, user, pass } = await openLoggedIn()
    const first = await tokenOf(page)
    await pass(12 * HOUR_MS)
    await expect.poll(() => tokenOf(page)).not.toBe(first)
    const headers = bearer((await tokenOf(page)) ?? '')
    await app.server.inject({ method: 'POST', url: '/logout', headers, payload: { everywhere: true } })
    await pass((LIFETIME_SECONDS - 30) * 1000)
    await expect
      .poll(async () => {
        await pass(2_000)
        return tokenOf(page)
      })
      .toBeUndefined()
    await says(page, 'Your session has ended.')
    await page.clock.resume()
    await page.getByLabel('E-mail', { exact: true }).fill(user.email)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await page.getByRole('button', { name: 'Log in', exact: true }).click()
    await onPage(page, 'Profile')
  })

  it('asks the server before it says that a session has ended', async () => {
    const { page, pass } = await openLoggedIn()
    const first = await tokenOf(page)
    // The clock of the machine jumps; that of the server does not.
    await page.clock.fastForward(2 * LIFETIME_SECONDS * 1000)
    await runSeconds(page, 3)
    await expect.poll(() => tokenOf(page)).not.toBe(first)
    await pass(60_000)
    await page.getByRole('link', { name: 'Security', exact: true }).click()
    await onPage(page, 'Security')
  })
})
