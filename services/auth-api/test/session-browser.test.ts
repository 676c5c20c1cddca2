import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import getPort from 'get-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, startApp, type TestApp } from './support/start-app.ts'

const KEY = 'latchkey-session'
const DAY_MS = 86_400_000
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
  const tokenOf = async (page: Page): Promise<string | undefined> =>
    JSON.parse((await page.evaluate((key) => sessionStorage.getItem(key), KEY)) ?? '{}').token
  const statusOf = async (token = '') =>
    (await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode

  /** A page with a session, whose clock stands still but for `pass`. */
  async function openLoggedIn({ on = app, at = origin, refreshWindowSeconds = 300 } = {}) {
    const user = await aUser(on)
    const { page } = await openPage(browser, at)
    await page.route('**/account/settings.json', async (route) => {
      const response = await route.fetch()
      await route.fulfill({
        response,
        json: { ...(await response.json()), refresh_window_seconds: refreshWindowSeconds },
      })
    })
    const sent: string[] = []
    page.on('request', (request) => {
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
    return { page, user, pass, refreshes: () => sent.length }
  }

  /** Answers each refresh as given, and notes when they were sent, in seconds of the page's clock. */
  async function refuseRefreshes(page: Page, headers?: Record<string, string>): Promise<number[]> {
    const sentAt: number[] = []
    await page.route(REFRESH, async (route) => {
      sentAt.push((await page.evaluate(() => Date.now())) / 1000)
      await (headers ? route.fulfill({ status: 503, headers, body: '' }) : route.abort())
    })
    return sentAt
  }

  /** The page's clock runs on, second by second. */
  async function runSeconds(page: Page, seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      await page.clock.runFor(1_000)
      // A request that a timer has sent is answered, or refused, before the next second.
      await page.evaluate(() => fetch('/health/live').then(({ status }) => status))
    }
  }

  const gapsOf = (times: readonly number[]) => times.slice(1).map((time, index) => time - (times[index] ?? 0))

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
    await pass((LIFETIME_SECONDS - 230) * 1000)
    await expect.poll(() => lost).toBe(1)
    await expect
      .poll(async () => {
        await pass(8_000)
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

  it('sends nothing while it waits for the last minutes of a token of thirty days', async () => {
    await using long = await startApp({
      database: app.database,
      settings: { TOKEN_LIFETIME: String((30 * DAY_MS) / 1000), SESSION_LIFETIME: '0' },
    })
    const { page, pass, refreshes } = await openLoggedIn({ on: long, at: await listen(long) })
    const token = await tokenOf(page)
    await runSeconds(page, 5)
    for (let day = 0; day < 29; day++) await pass(DAY_MS)
    await runSeconds(page, 5)
    expect(refreshes()).toBe(0)
    await pass(DAY_MS - 300_000)
    await expect.poll(() => tokenOf(page)).not.toBe(token)
    expect(refreshes()).toBe(1)
  })

  it('sends nothing at first where REFRESH_WINDOW, when it was opened, was longer than tokens live now', async () => {
    const { page, pass, refreshes } = await openLoggedIn({ refreshWindowSeconds: 2 * LIFETIME_SECONDS })
    await pass((LIFETIME_SECONDS / 2 - 120) * 1000)
    await runSeconds(page, 5)
    expect(refreshes()).toBe(0)
  })

  it('refreshes at once when the machine is online again', async () => {
    const { page, pass } = await openLoggedIn()
    const token = await tokenOf(page)
    await page.context().setOffline(true)
    await pass((LIFETIME_SECONDS - 230) * 1000)
    // Five attempts fail, so the next one would come late.
    const failed: string[] = []
    page.on('requestfailed', (request) => failed.push(request.url()))
    await expect
      .poll(async () => {
        await pass(5_000)
        return failed.length
      })
      .toBeGreaterThan(4)
    await page.context().setOffline(false)
    await expect
      .poll(async () => {
        await page.clock.runFor(1)
        return tokenOf(page)
      })
      .not.toBe(token)
  })

  it('waits longer after each refresh that fails, and a random part of it', async () => {
    const { page, pass } = await openLoggedIn()
    const sentAt = await refuseRefreshes(page)
    await pass((LIFETIME_SECONDS - 230) * 1000)
    await runSeconds(page, 150)
    const gaps = gapsOf(sentAt)
    expect(gaps.length).toBeGreaterThan(4)
    expect(gaps.length).toBeLessThan(12)
    expect(gaps.at(-1)).toBeGreaterThan(3 * (gaps[0] ?? 0))
  })

  it('waits as long as Retry-After says, also when it is shown again', async () => {
    const { page, pass } = await openLoggedIn()
    const sentAt = await refuseRefreshes(page, { 'retry-after': '40' })
    await pass((LIFETIME_SECONDS - 230) * 1000)
    for (let step = 0; step < 10; step++) {
      await runSeconds(page, 10)
      await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    }
    expect(sentAt.length).toBeGreaterThan(1)
    for (const gap of gapsOf(sentAt)) expect(gap).toBeGreaterThanOrEqual(40)
  })

  it('takes over what a duplicate of the tab got for the same token, whichever answer each of them has', async () => {
    const user = await aUser(app)
    const start = Date.now()
    const token = await aToken(app, user)
    app.setClock(start + (LIFETIME_SECONDS - 200) * 1000)
    const refreshed = async () => {
      const headers = bearer(token)
      return (await app.server.inject({ method: 'POST', url: '/refreshtoken', headers })).json().token
    }
    const { page } = await openPage(browser, origin)
    const tab = await page.context().newPage()
    const answers = [await refreshed()]
    app.setClock(start + (LIFETIME_SECONDS - 190) * 1000)
    answers.push(await refreshed())
    expect(answers[0]).not.toBe(answers[1])
    for (const [index, each] of [page, tab].entries()) {
      // The second one does not refresh by itself meanwhile.
      const expiresAt = Date.now() + (index + 1) * LIFETIME_SECONDS * 1000
      const stored = JSON.stringify({ token: answers[index], expiresAt })
      await each.addInitScript(([key, value]) => sessionStorage.setItem(key, value), [KEY, stored] as const)
      await each.clock.install()
      await each.goto(`${origin}/account/`)
      await onPage(each, 'Profile')
    }
    app.setClock(start + (2 * LIFETIME_SECONDS - 400) * 1000)
    await page.clock.fastForward((LIFETIME_SECONDS - 200) * 1000)
    await expect.poll(() => tokenOf(page)).not.toBe(answers[0])
    await expect.poll(() => tokenOf(tab)).toBe(await tokenOf(page))
  })

  it('takes over nothing while it is logged out', async () => {
    const { page } = await openPage(browser, origin)
    await page.goto(`${origin}/account/`)
    await onPage(page, 'Log in')
    const token = await aToken(app, await aUser(app))
    await page.evaluate(
      ({ name, session }) =>
        new Promise<void>((resolve) => {
          // It was created after that of the page, and so hears each message after it.
          new BroadcastChannel(name).onmessage = () => resolve()
          new BroadcastChannel(name).postMessage({ session })
        }),
      { name: KEY, session: { token, expiresAt: Date.now() + 60_000 } },
    )
    expect(await tokenOf(page)).toBeUndefined()
  })

  it('asks the server before it says that a session has ended', async () => {
    const { page, pass } = await openLoggedIn()
    const first = await tokenOf(page)
    // The clock of the machine jumps; that of the server does not.
    await page.clock.fastForward(2 * LIFETIME_SECONDS * 1000)
    await runSeconds(page, 3)
    expect(await tokenOf(page)).toBe(first)
    await pass((LIFETIME_SECONDS - 60) * 1000)
    await runSeconds(page, 60)
    await page.getByText('Your session has ended.').first().waitFor()
  })
})
