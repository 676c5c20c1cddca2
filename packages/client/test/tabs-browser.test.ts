import { mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { bearer } from '@latchkey/auth-api/test/support/start-app.ts'
import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openProfile } from '@latchkey/test-support/browser.ts'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { Client } from '../src/client.js'
import { type Site, startSite } from './site.ts'

declare global {
  // The page has these.
  var client: Client
  var changes: string[]
}

const HOUR_MS = 3_600_000
const REFRESH = 'POST /refreshtoken'
const KINDS = ['cookie', 'storage'] as const

describe.skipIf(!hasBrowser)('a client in Chromium', () => {
  let browser: Browser
  let site: Site
  let user: TestUser
  beforeAll(async () => {
    browser = await openBrowser()
    site = await startSite()
  })
  beforeEach(async () => {
    user = await aUser(site.app)
    site.sent.length = 0
    site.loses = () => false
    site.app.setClock(undefined)
  })
  afterAll(async () => {
    await browser?.close()
    await site[Symbol.asyncDispose]()
  })

  /** A browser whose clock, and that of the server, stands still but for `pass`, which lets timers run, and `sleep`. */
  async function openContext(given?: BrowserContext, { on = site, start = Date.now() } = {}) {
    const context = given ?? (await browser.newContext())
    let now = start
    await context.clock.install({ time: start })
    let isPaused = false
    const set = (ms: number) => {
      now += ms
      on.app.setClock(now)
    }
    on.app.setClock(now)
    return {
      context,
      now: () => now,
      async open(path = '/?session=cookie', origin = on.origin) {
        const page = await context.newPage()
        await page.goto(`${origin}${path}`)
        await page.waitForFunction(() => 'client' in globalThis)
        if (isPaused) return page
        isPaused = true
        set(60_000)
        await context.clock.pauseAt(now)
        return page
      },
      async pass(ms: number) {
        set(ms)
        await context.clock.runFor(ms)
      },
      /** Timers fire once, late. */
      async sleep(ms: number) {
        set(ms)
        await context.clock.fastForward(ms)
      },
      [Symbol.asyncDispose]: () => context.close(),
    }
  }
  type Context = Awaited<ReturnType<typeof openContext>>

  const logIn = (page: Page, given: TestUser = user) =>
    page.evaluate((credentials) => client.logIn(credentials), { username: given.email, password: PASSWORD })
  const shown = (page: Page) => page.locator('#user').textContent()
  const changesOf = (page: Page) => page.evaluate(() => changes)
  const emailOf = (page: Page) => page.evaluate(() => client.profile().then(({ email }) => email))
  const tokenOf = (page: Page) => page.evaluate(() => client.token())
  const refreshes = () => site.sent.filter((sent) => sent === REFRESH).length

  /** Lets the clock go on until the promise is settled: a refresh may wait for a second. */
  async function settle<T>({ pass }: Pick<Context, 'pass'>, promise: Promise<T>): Promise<T> {
    let isSettled = false
    const watched = promise.finally(() => {
      isSettled = true
    })
    watched.catch(() => undefined)
    await expect
      .poll(async () => {
        // A short time: a slow machine asks often, and no token is to expire meanwhile.
        if (!isSettled) await pass(100)
        return isSettled
      })
      .toBe(true)
    return watched
  }

  it.each(KINDS)(
    'is still logged in when the browser was closed for an hour and a day: %s',
    async (session) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-profile-'))
      let now: number
      {
        await using first = await openContext(await openProfile(folder.path))
        const page = await first.open(`/?session=${session}`)
        await logIn(page)
        now = first.now()
      }
      for (const hours of [2, 26]) {
        now += hours * HOUR_MS
        await using again = await openContext(await openProfile(folder.path), { start: now })
        const page = await again.open(`/?session=${session}`)
        expect(await shown(page)).toBe('Ada')
        expect(await settle(again, emailOf(page))).toBe(user.email)
        const readable = await page.evaluate(() => document.cookie + JSON.stringify(localStorage))
        expect(readable.includes('refreshToken')).toBe(session === 'storage')
        expect(await changesOf(page)).toEqual([])
      }
    },
  )

  it.each(KINDS)('sends one refresh for two tabs and a duplicate, ten times: %s', async (session) => {
    await using browserContext = await openContext()
    const { open, sleep } = browserContext
    const path = `/?session=${session}`
    const first = await open(path)
    await logIn(first)
    const [duplicate] = await Promise.all([
      first.waitForEvent('popup'),
      first.evaluate(() => void open(location.href)),
    ])
    await duplicate.waitForFunction(() => 'client' in globalThis)
    const tabs = [first, await open(path), duplicate]
    for (let round = 1; round <= 10; round++) {
      await sleep(2 * HOUR_MS)
      const tokens = await settle(browserContext, Promise.all(tabs.map(tokenOf)))
      expect(new Set(tokens).size, `round ${round}`).toBe(1)
      expect(await settle(browserContext, Promise.all(tabs.map(emailOf)))).toEqual(tabs.map(() => user.email))
      expect(refreshes()).toBe(round)
    }
    expect(await Promise.all(tabs.map(changesOf))).toEqual([['logged-in'], [], []])
  })

  it.each(KINDS)('refreshes by itself after a sleep, once: %s', async (session) => {
    await using browserContext = await openContext()
    const page = await browserContext.open(`/?session=${session}`)
    await logIn(page)
    await browserContext.sleep(5 * HOUR_MS)
    await expect.poll(refreshes).toBe(1)
    expect(await settle(browserContext, emailOf(page))).toBe(user.email)
    await browserContext.pass(10_000)
    expect(refreshes()).toBe(1)
  })

  it('logs out, and in as another user, in all tabs', async () => {
    await using browserContext = await openContext()
    const [first, second] = [await browserContext.open(), await browserContext.open()]
    await logIn(first)
    await expect.poll(() => shown(second)).toBe('Ada')
    await second.evaluate(() => client.logOut())
    await expect.poll(() => shown(first)).toBe('nobody')
    expect(await tokenOf(first)).toBeUndefined()
    await logIn(second, await aUser(site.app, { name: 'Grace' }))
    await expect.poll(() => shown(first)).toBe('Grace')
    expect(await changesOf(first)).toEqual(['logged-in', 'other-tab', 'other-tab'])
    expect(await changesOf(second)).toEqual(['other-tab', 'logged-out', 'logged-in'])
  })

  it.each(KINDS)('is logged out in all tabs when the session was ended elsewhere: %s', async (session) => {
    await using browserContext = await openContext()
    const path = `/?session=${session}`
    const [first, second] = [await browserContext.open(path), await browserContext.open(path)]
    await logIn(first)
    const token = String(await tokenOf(first))
    const ended = await site.app.server.inject({ method: 'POST', url: '/logout', headers: bearer(token) })
    expect(ended.statusCode).toBe(204)
    await browserContext.sleep(HOUR_MS)
    await expect.poll(() => shown(first)).toBe('nobody')
    await expect.poll(() => shown(second)).toBe('nobody')
    const reasons = [...(await changesOf(first)), ...(await changesOf(second))]
    expect(reasons.filter((reason) => reason === 'ended')).toHaveLength(1)
  })

  it.each(KINDS)('loses no session with an answer, whichever it is: %s', async (session) => {
    await using browserContext = await openContext()
    /** Each step is taken until it is answered, as a user does. */
    const take = (page: Page, step: () => Promise<unknown>) =>
      expect
        .poll(async () => {
          const outcome = settle(
            browserContext,
            step().then(
              () => 'answered',
              (error) => String(error),
            ),
          )
          const said = await outcome
          if (said !== 'answered' && !/did not answer/.test(said)) throw new Error(said)
          return said
        })
        .toBe('answered')
        .then(() => changesOf(page))
    const live = async () => {
      const page = await browserContext.open(`/?session=${session}`)
      await take(page, () => logIn(page))
      for (let day = 0; day < 2; day++) {
        await browserContext.sleep(24 * HOUR_MS)
        await take(page, () => emailOf(page))
      }
      expect(await changesOf(page)).toEqual(['logged-in'])
      await page.evaluate(() => client.logOut().catch(() => undefined))
      await page.close()
    }
    await live()
    const all = site.sent.length
    expect(all).toBeGreaterThan(5)
    for (let lost = 0; lost < all; lost++) {
      let count = 0
      site.loses = () => count++ === lost
      await live()
    }
    const reused = site.app.logLines.filter(
      (line) => line.includes('token.reused') && line.includes(user.userid),
    )
    expect(reused).toEqual([])
  })

  it.each(KINDS)('goes on as soon as the machine is online again: %s', async (session) => {
    await using browserContext = await openContext()
    const page = await browserContext.open(`/?session=${session}`)
    await logIn(page)
    await browserContext.context.setOffline(true)
    await browserContext.sleep(HOUR_MS)
    for (let minute = 0; minute < 10; minute++) await browserContext.pass(60_000)
    expect(await shown(page)).toBe('Ada')
    expect(refreshes()).toBe(0)
    await browserContext.context.setOffline(false)
    await expect
      .poll(async () => {
        // The last attempt may have been less than a second ago.
        await browserContext.pass(100)
        return refreshes()
      })
      .toBe(1)
    expect(await settle(browserContext, emailOf(page))).toBe(user.email)
  })

  it.each([
    { lifetime: 40, minutes: 10, atLeast: 15, atMost: 22 },
    { lifetime: 30 * 86_400, minutes: 10, atLeast: 0, atMost: 0 },
  ])(
    'sends $atLeast to $atMost refreshes in ten minutes for tokens of $lifetime s',
    async ({ lifetime, minutes, atLeast, atMost }) => {
      const settings = { TOKEN_LIFETIME: String(lifetime), REFRESH_WINDOW: '20' }
      await using other = await startSite({ database: site.app.database, settings })
      await using browserContext = await openContext(undefined, { on: other })
      const page = await browserContext.open('/?session=cookie', other.origin)
      await logIn(page)
      for (let second = 0; second < minutes * 60; second++) {
        await browserContext.pass(1_000)
        // A request that a timer has sent is answered before the next second.
        if (second % 10 === 0) await page.evaluate(() => fetch('/health/live').then(({ status }) => status))
      }
      const sent = other.sent.filter((each) => each === REFRESH).length
      expect(sent).toBeLessThanOrEqual(atMost)
      expect(sent).toBeGreaterThanOrEqual(atLeast)
      expect(await settle(browserContext, emailOf(page))).toBe(user.email)
    },
  )

  it('keeps a session of a page whose origin is in CORS_ORIGINS in a cookie, and of no other page', async () => {
    await using browserContext = await openContext()
    const page = await browserContext.open(`/?session=cookie&url=${site.api}`)
    await logIn(page)
    await browserContext.sleep(5 * HOUR_MS)
    expect(await settle(browserContext, emailOf(page))).toBe(user.email)
    expect(refreshes()).toBe(1)
    await page.evaluate(
      ([current_password, password]) => client.changePassword({ current_password, password }),
      [PASSWORD, 'an0ther-Horse!'] as const,
    )
    await browserContext.sleep(5 * HOUR_MS)
    expect(await settle(browserContext, emailOf(page))).toBe(user.email)

    const foreign = await browserContext.open(`/?session=cookie&url=${site.api}`, site.foreign)
    expect(await shown(foreign)).toBe('nobody')
    const stolen = await foreign.evaluate(
      (api) =>
        fetch(`${api}/refreshtoken`, {
          method: 'POST',
          credentials: 'include',
          headers: { 'content-type': 'application/json' },
          body: '{}',
        }).then(
          ({ status }) => String(status),
          () => 'refused',
        ),
      site.api,
    )
    expect(stolen).toBe('refused')
    const said = await logIn(foreign).catch(String)
    expect(said).toContain('did not answer')
  })

  it('lasts as long as a page where the browser refuses the cookie', async () => {
    await using browserContext = await openContext()
    const page = await browserContext.open(`/?session=cookie&url=${site.otherSite}`)
    await logIn(page)
    for (let hour = 0; hour < 3; hour++) {
      // The first refresh is by the cookie, in the last minute; the others are by the token, in its last five.
      await browserContext.sleep(HOUR_MS - (hour === 0 ? 45_000 : 200_000))
      expect(await settle(browserContext, emailOf(page))).toBe(user.email)
      await expect
        .poll(async () => {
          await browserContext.pass(100)
          return site.sent.filter((sent) => sent === REFRESH).length
        })
        .toBe(hour + 2)
      // The clock stands until the answer is there: the client counts the lifetime of the token from then on.
      await settle(browserContext, tokenOf(page))
    }
    expect(await changesOf(page)).toEqual(['logged-in'])
    await browserContext.sleep(2 * HOUR_MS)
    await expect.poll(() => shown(page)).toBe('nobody')
  })

  it('lasts as long as a page where the user blocks cookies', async () => {
    await using browserContext = await openContext()
    await browserContext.context.addInitScript(() => {
      Object.defineProperty(globalThis, 'localStorage', {
        get: () => {
          throw new DOMException('The user blocks cookies', 'SecurityError')
        },
      })
    })
    const page = await browserContext.open('/?session=storage')
    await logIn(page)
    await browserContext.sleep(5 * HOUR_MS)
    expect(await settle(browserContext, emailOf(page))).toBe(user.email)
    const other = await browserContext.open('/?session=storage')
    expect(await shown(other)).toBe('nobody')
  })
})
