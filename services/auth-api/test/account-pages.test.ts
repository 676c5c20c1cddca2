import { glob, readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { findFiles, PAGES } from '@latchkey/account-pages/find-files.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import axe from 'axe-core'
import getPort from 'get-port'
import type { Browser, BrowserContextOptions, Page, Route } from 'playwright-core'
import decodeQR from 'qr/decode.js'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { codeAt, enrolUser, factorSettings } from './support/factors.ts'
import { aToken, bearer, codeTo, startApp, type TestApp } from './support/start-app.ts'

const NEW_PASSWORD = 'an0ther-Horse!'

const SETTINGS = factorSettings({
  EMAIL_CHANGE: 'confirmed',
  SIGN_UP: 'on',
  ACCOUNT_DELETION: 'on',
  SECOND_FACTOR_ROLES: 'admin',
  // White text on it would be unreadable.
  MAIL_COLOUR: '#ffcc00',
})
const STEP_MS = 30_000
const FIVE_MINUTES_MS = 300_000

describe('the files of /account/', () => {
  it('loads its own files only, below any path prefix, and each is asked for again', async () => {
    await using app = await startApp()
    const { headers } = await app.server.inject('/account')
    expect(new URL(String(headers.location), 'https://example.com/prefix/account').pathname).toBe(
      '/prefix/account/',
    )
    const index = await app.server.inject('/account/')
    const policy = String(index.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    expect(policy).not.toContain('unsafe')
    const seen = new Set<string>()
    const follow = async (url: string): Promise<void> => {
      if (seen.has(url)) return
      seen.add(url)
      const answer = await app.server.inject(url)
      expect(answer.statusCode, url).toBe(200)
      const { etag } = answer.headers
      expect(etag, url).toBeDefined()
      const again = await app.server.inject({ url, headers: { 'if-none-match': String(etag) } })
      expect(again.statusCode, url).toBe(304)
      const compressed = await app.server.inject({ url, headers: { 'accept-encoding': 'br, gzip;q=0.5' } })
      expect(compressed.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding', etag })
      expect(gunzipSync(compressed.rawPayload).toString(), url).toBe(answer.body)
      const code = answer.body.replaceAll(/\/\*\*[\s\S]*?\*\//g, '')
      for (const [, link = ''] of code.matchAll(/(?:src|href)="([^"#]+)"/g))
        await follow(new URL(link, `http://localhost${url}`).pathname)
      for (const [, link = ''] of code.matchAll(/(?:from |import\()'(\.[^']+)'/g))
        await follow(new URL(link, `http://localhost${url}`).pathname)
    }
    await follow('/account/')
    expect([...seen]).toContain('/account/client/client.js')
    expect(seen.size).toBeGreaterThan(10)
  })

  it.each([
    { header: undefined, encoding: undefined },
    { header: 'identity', encoding: undefined },
    { header: 'gzip;q=0, br', encoding: undefined },
    { header: 'xgzip', encoding: undefined },
    { header: 'deflate, GZIP', encoding: 'gzip' },
  ])('compresses for a browser that takes it: $header', async ({ header, encoding }) => {
    await using app = await startApp()
    const headers = header === undefined ? {} : { 'accept-encoding': header }
    const answer = await app.server.inject({ url: '/account/main.js', headers })
    expect(answer.headers['content-encoding']).toBe(encoding)
  })

  it('names all that the login needs before any of it is run, and weighs less than 45 kB', async () => {
    await using app = await startApp()
    const { body } = await app.server.inject('/account/')
    const named = [...body.matchAll(/modulepreload" href="([^"]+)"/g)].map(([, name = '']) => name)
    const files = await findFiles()
    const needed = new Set<string>()
    const follow = async (name: string): Promise<void> => {
      if (needed.has(name)) return
      needed.add(name)
      const code = await readFile(files.get(name) ?? '', 'utf8')
      for (const [, link = ''] of code.matchAll(/^(?:import|export) [^;'(]*from '(\.[^']+)'/gm))
        await follow(new URL(link, `http://localhost/${name}`).pathname.slice(1))
    }
    await follow('main.js')
    expect(named.toSorted()).toEqual([...needed].toSorted())
    let bytes = 0
    for (const name of ['', 'style.css', 'boot.js', 'texts/en.json', 'settings.json', ...named]) {
      const answer = await app.server.inject({
        url: `/account/${name}`,
        headers: { 'accept-encoding': 'gzip' },
      })
      bytes += answer.rawPayload.length
    }
    expect(bytes).toBeLessThan(45_000)
  })

  it.each(['../feature.ts', '..%2ffeature.ts', 'feature.ts', 'toString', 'views/'])(
    'has no other file: %s',
    async (name) => {
      await using app = await startApp()
      expect((await app.server.inject(`/account/${name}`)).statusCode).toBe(404)
    },
  )

  it('is absent unless ACCOUNT_PAGES is on, but for dev and test', async () => {
    await using prod = await startApp({ settings: { APP_ENV: 'prod' } })
    for (const path of ['/account', '/account/', '/account/main.js', '/account/settings.json'])
      expect((await prod.server.inject(path)).statusCode, path).toBe(404)
    await using on = await startApp({
      database: prod.database,
      settings: {
        APP_ENV: 'prod',
        ACCOUNT_PAGES: 'on',
        PRODUCT_NAME: 'Éxample',
        MAIL_COLOUR: '#ffcc00',
        SUPPORT_ADDRESS: 'help@example.com',
      },
    })
    expect((await on.server.inject('/account/settings.json')).json()).toEqual({
      product: 'Éxample',
      support: 'help@example.com',
      colour: '#ffcc00',
      code_attempts: 5,
      login_field: 'email',
      refresh_window_seconds: 300,
      confirms_email: false,
      mail_login: false,
      sign_up: false,
      deletion: false,
      apps: false,
      passkey_origins: [],
    })
  })

  /** The values that a text has places for; `message` is the API's own, in English. */
  const valuesOf = (text: string) =>
    [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).filter((name) => name !== 'message')
  const textsOf = async (language: string) =>
    JSON.parse(await readFile(join(PAGES, 'texts', `${language}.json`), 'utf8'))

  it.each(['fr', 'pt'])('says everything in %s, with the same values', async (language) => {
    const shapeOf = (texts: object): unknown =>
      Object.entries(texts).map(([key, value]) => [
        key,
        typeof value === 'string' ? valuesOf(value).toSorted() : shapeOf(value),
      ])
    expect(shapeOf(await textsOf(language))).toEqual(shapeOf(await textsOf('en')))
  })

  it('gives each text the values that it has places for', async () => {
    const texts = await textsOf('en')
    const given: Record<string, string[]> = {}
    for await (const file of glob('**/*.js', { cwd: PAGES })) {
      const calls = (await readFile(join(PAGES, file), 'utf8')).matchAll(
        /fillText\(\s*texts\.(\w+),\s*\{([^}]*)\}/g,
      )
      for (const [, key = '', values = ''] of calls)
        given[key] = values.split(',').map((value) => value.split(':')[0]?.trim() ?? '')
    }
    const needed = Object.entries(texts).filter(
      ([, text]) => typeof text === 'string' && valuesOf(text).length > 0,
    )
    expect(given).toEqual(Object.fromEntries(needed.map(([key, text]) => [key, valuesOf(String(text))])))
  })
})

describe.skipIf(!hasBrowser)('the account pages', () => {
  let app: TestApp
  let browser: Browser
  let origin = ''
  beforeAll(async () => {
    const port = await getPort()
    origin = `http://localhost:${port}`
    app = await startApp({ settings: { ...SETTINGS, PASSKEY_ORIGINS: origin } })
    await listen(app, port)
    browser = await openBrowser()
  })
  afterEach(() => app.setClock(undefined))
  afterAll(async () => {
    await browser?.close()
    await app[Symbol.asyncDispose]()
  })

  async function listen({ server }: TestApp, port = 0): Promise<string> {
    const url = await server.listen({ host: '127.0.0.1', port })
    return url.replace('127.0.0.1', 'localhost')
  }

  /** Opens the pages; `faults` are those of the policy and of scripts, not the refusals that a test causes. */
  async function open(options: BrowserContextOptions & { at?: string; hash?: string } = {}) {
    const { at = origin, hash = '', ...context } = options
    const { page, faults } = await openPage(browser, at, context)
    await page.context().addInitScript(axe.source)
    await page.clock.install()
    await page.goto(`${at}/account/${hash}`)
    return { page, faults: () => faults.filter((fault) => !fault.startsWith('Failed to load resource')) }
  }

  const fieldOf = (page: Page, label: string) => page.getByLabel(label, { exact: true })
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  /** Opens what is asked before something that cannot be undone. */
  const openQuestion = (page: Page, label: string) =>
    page.locator('summary').filter({ hasText: label }).click()
  const follow = (page: Page, name: string) => page.getByRole('link', { name, exact: true }).click()
  const onPage = (page: Page, title: string) =>
    page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()
  const says = (page: Page, text: string) => page.getByText(text).first().waitFor()

  async function logIn(page: Page, email: string, password = PASSWORD): Promise<void> {
    await fieldOf(page, 'E-mail').fill(email)
    await fieldOf(page, 'Password').fill(password)
    await press(page, 'Log in')
  }

  async function openLoggedIn(options: Parameters<typeof open>[0] = {}) {
    const user = await aUser(app)
    const opened = await open(options)
    await logIn(opened.page, user.email)
    await onPage(opened.page, 'Profile')
    return { ...opened, user }
  }

  const tokenOf = async (page: Page): Promise<string | undefined> =>
    JSON.parse((await page.evaluate('localStorage.getItem("latchkey " + location.origin + "/")')) ?? '{}')
      .token

  const statusOf = async (token = '') =>
    (await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode

  it('logs in by keyboard, refreshes its token by itself, lasts a reload and logs out', async () => {
    const user = await aUser(app)
    const { page, faults } = await open()
    await onPage(page, 'Log in')
    await page.keyboard.type(user.email)
    await page.keyboard.press('Tab')
    await page.keyboard.type('wrong')
    await page.keyboard.press('Enter')
    await says(page, 'The password is wrong, or there is no such account.')
    expect(await fieldOf(page, 'Password').inputValue()).toBe('wrong')
    await page.keyboard.press('ControlOrMeta+A')
    await page.keyboard.type(PASSWORD)
    await page.keyboard.press('Enter')
    await onPage(page, 'Profile')
    const first = await tokenOf(page)

    const { lifetimeSeconds } = app.config.tokens
    app.setClock(Date.now() + (lifetimeSeconds - 30) * 1000)
    await page.clock.fastForward((lifetimeSeconds - 30) * 1000)
    await expect.poll(() => tokenOf(page)).not.toBe(first)
    const second = await tokenOf(page)
    expect(await statusOf(second)).toBe(200)

    await page.reload()
    await onPage(page, 'Profile')
    await press(page, 'Log out')
    await says(page, 'You are logged out.')
    expect(await tokenOf(page)).toBeUndefined()
    expect(await statusOf(second)).toBe(401)
    await page.goBack()
    await onPage(page, 'Log in')
    expect(faults()).toEqual([])
  })

  it('ends the session with the page where the user does not stay logged in', async () => {
    await using other = await startApp({ database: app.database, settings: { REFRESH_WINDOW: '40' } })
    const { lifetimeSeconds } = other.config.tokens
    const user = await aUser(app)
    const { page } = await open({ at: await listen(other) })
    const tokens: string[] = []
    page.on('response', async (response) => {
      if (response.url().endsWith('/refreshtoken')) tokens.push((await response.json()).token)
    })
    await page.getByLabel('Keep me logged in on this device').uncheck()
    await logIn(page, user.email)
    await onPage(page, 'Profile')
    expect(await page.evaluate('localStorage.length')).toBe(0)
    expect(await page.context().cookies()).toEqual([])

    // Its access token is refreshed within REFRESH_WINDOW, and not before.
    other.setClock(Date.now() + (lifetimeSeconds - 45) * 1000)
    await page.clock.fastForward((lifetimeSeconds - 45) * 1000)
    expect(tokens).toEqual([])
    other.setClock(Date.now() + (lifetimeSeconds - 30) * 1000)
    await page.clock.fastForward(15_000)
    await expect.poll(() => tokens.length).toBe(1)
    const { statusCode } = await other.server.inject({ url: '/profile', headers: bearer(tokens[0] ?? '') })
    expect(statusCode).toBe(200)

    await page.reload()
    await onPage(page, 'Log in')
  })

  it.each([
    { what: 'a module was lost', file: 'router.js', lose: (route: Route) => route.abort() },
    {
      what: 'the texts were refused',
      file: 'texts/en.json',
      lose: (route: Route) => route.fulfill({ status: 503, json: { title: 'Unavailable' } }),
    },
  ])('loads again by itself when $what, and then offers to', async ({ file, lose }) => {
    const { page } = await openPage(browser, origin)
    await page.route(`**/account/${file}`, lose)
    await page.goto(`${origin}/account/`)
    await says(page, 'The page could not be loaded. Try again.')
    await page.unroute(`**/account/${file}`)
    await page.locator('#lost a').click()
    await onPage(page, 'Log in')
  })

  it('asks for a login when the token was revoked, and then goes on where it was', async () => {
    const { page, user } = await openLoggedIn()
    await follow(page, 'Security')
    await onPage(page, 'Security')
    const headers = bearer((await tokenOf(page)) ?? '')
    await app.server.inject({ method: 'POST', url: '/logout', headers, payload: { everywhere: true } })
    await fieldOf(page, 'Current password').fill(PASSWORD)
    await fieldOf(page, 'New password').fill(NEW_PASSWORD)
    await press(page, 'Change the password')
    await page.locator('#status.notice', { hasText: 'Your session has ended.' }).waitFor()
    expect(await tokenOf(page)).toBeUndefined()
    await logIn(page, user.email)
    await onPage(page, 'Security')
  })

  it('resets a password, whatever goes wrong on the way', async () => {
    const user = await aUser(app)
    const { page } = await open()
    await follow(page, 'Forgot your password?')
    await onPage(page, 'Forgot your password?')
    await press(page, 'Send me a code')
    await says(page, 'Fill this in.')
    await fieldOf(page, 'E-mail').fill('two@example.com, three@example.com')
    await press(page, 'Send me a code')
    await says(page, 'This must be one e-mail address.')
    await fieldOf(page, 'E-mail').fill(` ${user.email} `)
    await press(page, 'Send me a code')
    await says(page, `If ${user.email} has an account, a code is on its way.`)

    await page.reload()
    await fieldOf(page, 'Code of six digits').fill('12')
    await press(page, 'Confirm')
    await says(page, 'The code has six digits.')
    const code = await codeTo(app, user.email)
    await fieldOf(page, 'Code of six digits').fill(code === '000000' ? '000001' : '000000')
    await press(page, 'Confirm')
    await says(page, 'This code is wrong or has expired.')
    // As the mail shows it.
    await fieldOf(page, 'Code of six digits').fill(`${code.slice(0, 3)} ${code.slice(3)}`)
    await press(page, 'Confirm')
    await onPage(page, 'New password')
    await fieldOf(page, 'New password').fill('short')
    await press(page, 'Set the password')
    await page
      .locator('.fault', { hasText: 'At least 12 characters. At least one capital letter.' })
      .waitFor()
    await fieldOf(page, 'New password').fill(NEW_PASSWORD)
    await press(page, 'Set the password')
    await says(page, 'The password is changed.')
    expect(await fieldOf(page, 'E-mail').inputValue()).toBe(user.email)
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    await press(page, 'Log in')
    await onPage(page, 'Profile')
  })

  it('confirms the code of a reset in another tab, and says that a used one is over', async () => {
    const user = await aUser(app)
    const { page } = await open({ hash: '#forgot' })
    await fieldOf(page, 'E-mail').fill(user.email)
    await press(page, 'Send me a code')
    await onPage(page, 'Enter the code')
    const code = await codeTo(app, user.email)

    const tab = await page.context().newPage()
    await tab.goto(`${origin}/account/#code`)
    await fieldOf(tab, 'E-mail').fill(user.email)
    await fieldOf(tab, 'Code of six digits').fill(code)
    await press(tab, 'Confirm')
    await onPage(tab, 'New password')

    await fieldOf(page, 'Code of six digits').fill(code)
    await press(page, 'Confirm')
    await says(page, 'This code is wrong or has expired.')
    await page.goBack()
    await onPage(page, 'Forgot your password?')
  })

  it('signs up with the code of the mail, under another username where the first is taken', async () => {
    const { username } = await aUser(app)
    const email = `grace-${username}@example.com`
    const { page } = await open({ locale: 'pt-PT' })
    await page.getByRole('button', { name: 'English' }).click()
    await follow(page, 'Create an account')
    await fieldOf(page, 'Name').fill('Grace')
    await fieldOf(page, 'E-mail').fill(email)
    await fieldOf(page, 'Username').fill(username)
    await fieldOf(page, 'Password').fill('short')
    await press(page, 'Create an account')
    await page.locator('.fault', { hasText: 'At least 12 characters.' }).waitFor()
    expect(await fieldOf(page, 'Name').inputValue()).toBe('Grace')
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    await press(page, 'Create an account')
    await says(page, `We have sent a mail to ${email}.`)
    expect(await page.getByLabel('Username').isVisible()).toBe(false)

    await fieldOf(page, 'Code of six digits').fill(await codeTo(app, email))
    await press(page, 'Create the account')
    await says(page, 'This username is taken.')
    await fieldOf(page, 'Username').fill(`g${username}`.slice(0, 20))
    await press(page, 'Create the account')
    await says(page, 'Your account is ready.')
    expect(await statusOf(await tokenOf(page))).toBe(200)
  })

  it('changes the password, which ends the sessions of other devices and not this one', async () => {
    const { page, user } = await openLoggedIn()
    const elsewhere = await aToken(app, user)
    await follow(page, 'Security')
    await onPage(page, 'Security')
    const change = async (currentPassword: string) => {
      await fieldOf(page, 'Current password').fill(currentPassword)
      await fieldOf(page, 'New password').fill(NEW_PASSWORD)
      await press(page, 'Change the password')
    }
    await change('wrong')
    await says(page, 'The current password is wrong.')
    await change(PASSWORD)
    await says(page, 'The password is changed.')
    expect([await statusOf(elsewhere), await statusOf(await tokenOf(page))]).toEqual([401, 200])

    await follow(page, 'Devices')
    await onPage(page, 'Devices')
    await press(page, 'Log out everywhere')
    await logIn(page, user.email, NEW_PASSWORD)
    await onPage(page, 'Profile')
  })

  it('shows where the user is logged in, and logs one of these devices out', async () => {
    const { page, user } = await openLoggedIn()
    const elsewhere = await aToken(app, user)
    await follow(page, 'Devices')
    await onPage(page, 'Devices')
    await says(page, 'This device')
    await page.getByRole('heading', { name: 'Chrome · Linux' }).waitFor()
    await page.getByRole('button', { name: /^Log out: lightMyRequest/ }).click()
    await says(page, 'lightMyRequest is logged out.')
    expect([await statusOf(elsewhere), await statusOf(await tokenOf(page))]).toEqual([401, 200])
  })

  it('changes the name, the language and, by the code of its mail, the e-mail', async () => {
    const { page, user } = await openLoggedIn()
    const email = `new-${user.email}`
    await fieldOf(page, 'New e-mail').fill(email)
    await fieldOf(page, 'Current password').fill(PASSWORD)
    await press(page, 'Change the e-mail')
    await says(page, `A code is on its way to ${email}.`)
    await page.reload()
    await says(page, `A code is on its way to ${email}.`)
    await fieldOf(page, 'Code of six digits').fill(await codeTo(app, email))
    await press(page, 'Confirm the e-mail')
    await says(page, 'The e-mail is changed.')
    expect(await fieldOf(page, 'Code of six digits').count()).toBe(0)

    await fieldOf(page, 'Name').fill('Zoë 🗝')
    await fieldOf(page, 'Language').selectOption('fr')
    await press(page, 'Save')
    await says(page, 'Enregistré.')
    await onPage(page, 'Profil')
    expect(await fieldOf(page, 'Nom').inputValue()).toBe('Zoë 🗝')
    expect(await page.locator('html').getAttribute('lang')).toBe('fr')
  })

  it('deletes the account, once the password is right', async () => {
    const { page, user } = await openLoggedIn()
    await follow(page, 'Delete the account…')
    await onPage(page, 'Delete your account')
    await fieldOf(page, 'Current password').fill('wrong')
    await press(page, 'Delete the account')
    await says(page, 'The current password is wrong.')
    await fieldOf(page, 'Current password').fill(PASSWORD)
    await press(page, 'Delete the account')
    await says(page, 'Your account is deleted.')
    await logIn(page, user.email)
    await says(page, 'The password is wrong, or there is no such account.')
  })

  it('loses nothing that was typed without the network, and goes on with it', async () => {
    const { page } = await openLoggedIn()
    await page.context().setOffline(true)
    await fieldOf(page, 'Name').fill('Ada in a tunnel')
    await press(page, 'Save')
    await says(page, 'The server cannot be reached.')
    expect(await fieldOf(page, 'Name').inputValue()).toBe('Ada in a tunnel')
    await page.context().setOffline(false)
    await press(page, 'Save')
    await says(page, 'Saved.')

    await page.context().setOffline(true)
    await follow(page, 'Security')
    await onPage(page, 'This page cannot be loaded')
    await page.context().setOffline(false)
    await press(page, 'Try again')
    await onPage(page, 'Security')

    await page.route('**/account/settings.json', (route) => route.abort())
    await page.reload()
    await onPage(page, 'This page cannot be loaded')
    await page.unroute('**/account/settings.json')
    await press(page, 'Try again')
    await onPage(page, 'Security')
  })

  it('is logged in and out in all tabs at once', async () => {
    const { page, user } = await openLoggedIn()
    await follow(page, 'Security')
    await onPage(page, 'Security')
    const tab = await page.context().newPage()
    await tab.goto(`${origin}/account/#devices`)
    await onPage(tab, 'Devices')
    await says(tab, 'It stays logged in.')
    await press(tab, 'Log out')
    await onPage(page, 'Log in')
    await says(page, 'You are logged out.')
    await logIn(tab, user.email)
    await onPage(tab, 'Profile')
    await onPage(page, 'Security')
  })

  /** Reads the QR code as the camera of a telephone does. */
  async function scan(page: Page): Promise<string> {
    const qr = page.getByRole('img', { name: 'QR code' })
    const size = Number((await qr.getAttribute('viewBox'))?.split(' ')[2])
    const scale = 4
    const data = new Uint8ClampedArray((size * scale) ** 2 * 4).fill(255)
    const path = (await qr.locator('path').getAttribute('d')) ?? ''
    for (const [, x, y] of path.matchAll(/M(\d+) (\d+)/g))
      for (let row = 0; row < scale; row++) {
        const start = ((Number(y) * scale + row) * size + Number(x)) * scale * 4
        data.fill(0, start, start + scale * 4)
      }
    return decodeQR({ width: size * scale, height: size * scale, data })
  }

  const addApp = async (page: Page, password = PASSWORD) => {
    // The page before has such a field too.
    await page.getByRole('heading', { level: 1, name: /^Add / }).waitFor()
    await fieldOf(page, 'Current password').fill(password)
    await press(page, 'Next')
  }

  it('adds an authenticator app, and then logs in by it, by a recovery code, and without it again', async () => {
    const { page, user, faults } = await openLoggedIn()
    await follow(page, 'Security')
    await onPage(page, 'Security')
    await follow(page, 'Add an authenticator app')
    await fieldOf(page, 'Name of the device (optional)').fill('Telephone')
    await addApp(page, 'wrong')
    await says(page, 'The current password is wrong.')
    await addApp(page)
    await says(page, 'Scan this picture')
    const uri = new URL(await scan(page))
    const secret = uri.searchParams.get('secret') ?? ''
    expect(uri.href).toContain(encodeURIComponent(user.email))
    const start = Date.now()
    await fieldOf(page, 'Code that the app shows').fill(codeAt(secret, start - 10 * STEP_MS))
    await press(page, 'Confirm')
    await says(page, 'This code is wrong or was used.')
    await fieldOf(page, 'Code that the app shows').fill(codeAt(secret, start))
    await press(page, 'Confirm')
    await onPage(page, 'Recovery codes')
    const codes = await page.locator('.codes li').allTextContents()
    expect(codes).toHaveLength(10)
    await press(page, 'I have stored them')
    await says(page, 'Telephone')
    await page.getByText('Rename', { exact: true }).click()
    await fieldOf(page, 'Name').fill('')
    await press(page, 'Save: Telephone')
    await says(page, 'Fill this in.')
    await fieldOf(page, 'Name').fill('Work phone')
    await press(page, 'Save: Telephone')
    await says(page, 'Saved.')

    await press(page, 'Log out')
    await logIn(page, user.email)
    await onPage(page, 'One more step')
    await fieldOf(page, 'Code').fill('000000')
    await press(page, 'Log in')
    await says(page, 'This code is wrong or was used.')
    await fieldOf(page, 'Code').fill(codeAt(secret, start + STEP_MS))
    await press(page, 'Log in')
    await onPage(page, 'Profile')

    await press(page, 'Log out')
    await logIn(page, user.email)
    await fieldOf(page, 'Code').fill(` ${codes[3]} `)
    await press(page, 'Log in')
    await follow(page, 'Security')
    await onPage(page, 'Security')
    await says(page, 'Recovery codes that are left: 9.')
    await openQuestion(page, 'Remove')
    await says(page, 'It is your last one')
    expect(await createFactorRepository(app.database.db).find(user.userid)).toHaveLength(1)
    await press(page, 'Yes, remove it: Work phone')
    await says(page, 'Work phone is removed.')
    await press(page, 'Log out')
    await logIn(page, user.email)
    await onPage(page, 'Profile')
    expect(faults()).toEqual([])
  })

  it('says that the second step has taken too long, and goes back to the first', async () => {
    const user = await aUser(app)
    const { secret } = await enrolUser(app, user, Date.now())
    const { page } = await open()
    await logIn(page, user.email)
    await onPage(page, 'One more step')
    const later = Date.now() + FIVE_MINUTES_MS + STEP_MS
    app.setClock(later)
    await fieldOf(page, 'Code').fill(codeAt(secret, later))
    await press(page, 'Log in')
    await says(page, 'This took too long, or too many codes were wrong. Start again.')
    await page.goBack()
    await logIn(page, user.email)
    await onPage(page, 'One more step')
    await page.reload()
    await fieldOf(page, 'Code').fill(codeAt(secret, later))
    await press(page, 'Log in')
    await onPage(page, 'Profile')
  })

  it('asks for the second factor again before it changes what guards the account', async () => {
    const user = await aUser(app)
    const { secret, recoveryCodes } = await enrolUser(app, user, Date.now())
    const { page, faults } = await open()
    await logIn(page, user.email)
    await fieldOf(page, 'Code').fill(codeAt(secret, Date.now() + STEP_MS))
    await press(page, 'Log in')
    await follow(page, 'Security')
    await onPage(page, 'Security')
    const later = Date.now() + FIVE_MINUTES_MS + STEP_MS
    app.setClock(later)
    await fieldOf(page, 'Current password').fill(PASSWORD)
    await fieldOf(page, 'New password').fill(NEW_PASSWORD)
    await press(page, 'Change the password')
    await onDialog(page).getByText('Confirm that it is you').waitFor()
    await page.keyboard.press('Escape')
    await says(page, 'Without this step nothing was changed.')
    expect(await fieldOf(page, 'New password').inputValue()).toBe(NEW_PASSWORD)
    await press(page, 'Change the password')
    await onDialog(page)
      .getByLabel('Code', { exact: true })
      .fill(recoveryCodes[0] ?? '')
    await onDialog(page).getByRole('button', { name: 'Confirm' }).click()
    await says(page, 'The password is changed.')
    expect(faults()).toEqual([])
  })

  const onDialog = (page: Page) => page.getByRole('dialog')

  it('lets a user whose role needs a second factor do nothing but add one', async () => {
    const admin = await aUser(app, { role: 'admin' })
    const { page } = await open()
    await logIn(page, admin.email)
    await says(page, 'Your role needs a second factor.')
    await onPage(page, 'Add an authenticator app')
    await addApp(page)
    const secret = new URL(await scan(page)).searchParams.get('secret') ?? ''
    await fieldOf(page, 'Code that the app shows').fill(codeAt(secret, Date.now()))
    await press(page, 'Confirm')
    await press(page, 'I have stored them')
    await openQuestion(page, 'Remove')
    await press(page, 'Yes, remove it: Authenticator app')
    await says(page, 'Your role needs a second factor. Add another one')
  })

  /**
   * Gives the browser an authenticator that keeps passkeys, verifies its user, and is touched at once. Unless it `isOffered`, the
   * browser offers no passkeys where the username is typed: the first one would be chosen at once there too.
   */
  async function addAuthenticator(page: Page, { isOffered = false } = {}) {
    if (!isOffered) await page.evaluate('PublicKeyCredential.isConditionalMediationAvailable = undefined')
    const devTools = await page.context().newCDPSession(page)
    await devTools.send('WebAuthn.enable')
    const options = {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
    } as const
    const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', { options })
    return {
      setUser: (isUserVerified: boolean) =>
        devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified }),
      setTouch: (enabled: boolean) =>
        devTools.send('WebAuthn.setAutomaticPresenceSimulation', { authenticatorId, enabled }),
      lose: () => devTools.send('WebAuthn.clearCredentials', { authenticatorId }),
    }
  }

  it('adds a passkey, and then logs in by it, after the password and alone, until it is lost', async () => {
    const { page, user, faults } = await openLoggedIn()
    const authenticator = await addAuthenticator(page)
    await follow(page, 'Security')
    await onPage(page, 'Security')
    await follow(page, 'Add a passkey')
    await fieldOf(page, 'Name of the device (optional)').fill('Laptop')
    await authenticator.setUser(false)
    await addApp(page)
    await says(page, 'No passkey was used.')
    await authenticator.setUser(true)
    await press(page, 'Next')
    await onPage(page, 'Recovery codes')
    const [code = ''] = await page.locator('.codes li').allTextContents()
    await press(page, 'I have stored them')
    await says(page, 'Laptop')
    await follow(page, 'Add a passkey')
    await onPage(page, 'Add a passkey')
    await addApp(page)
    await says(page, 'This device has a passkey for this account already.')

    await press(page, 'Log out')
    await logIn(page, user.email)
    await press(page, 'Use your passkey')
    await onPage(page, 'Profile')
    await press(page, 'Log out')
    await press(page, 'Log in with a passkey')
    await onPage(page, 'Profile')

    app.setClock(Date.now() + FIVE_MINUTES_MS + STEP_MS)
    await follow(page, 'Security')
    await onPage(page, 'Security')
    await openQuestion(page, 'New recovery codes')
    await says(page, 'stay valid until you confirm')
    await press(page, 'Show new codes')
    await onDialog(page).getByRole('button', { name: 'Use your passkey' }).click()
    await onPage(page, 'Recovery codes')
    // Without a confirmation the codes of before stay valid.
    await page.reload()
    await follow(page, 'Security')
    await onPage(page, 'Security')
    const { userid } = user
    const [kept] = await createFactorRepository(app.database.db).findCodes(userid)
    await openQuestion(page, 'New recovery codes')
    await press(page, 'Show new codes')
    await onPage(page, 'Recovery codes')
    expect(await createFactorRepository(app.database.db).findCodes(userid)).toContainEqual(kept)
    const [newCode = ''] = await page.locator('.codes li').allTextContents()
    await press(page, 'I have stored them')
    await says(page, 'The new recovery codes are valid.')

    await authenticator.lose()
    await press(page, 'Log out')
    await press(page, 'Log in with a passkey')
    await says(page, 'No passkey was used.')
    await logIn(page, user.email)
    await fieldOf(page, 'Code').fill(code)
    await press(page, 'Log in')
    await says(page, 'This code is wrong or was used.')
    await fieldOf(page, 'Code').fill(newCode)
    await press(page, 'Log in')
    await onPage(page, 'Profile')
    expect(faults()).toEqual([])
  })

  it('lets the browser offer a passkey where the username is typed, and takes the button as well', async () => {
    const { page, faults } = await openLoggedIn()
    const { setTouch } = await addAuthenticator(page, { isOffered: true })
    await follow(page, 'Security')
    await onPage(page, 'Security')
    await follow(page, 'Add a passkey')
    await addApp(page)
    await press(page, 'I have stored them')
    await press(page, 'Log out')
    // The authenticator has chosen what the browser has offered.
    await onPage(page, 'Profile')

    await setTouch(false)
    await page.evaluate(`{
      const { get } = navigator.credentials
      globalThis.offers = 0
      navigator.credentials.get = function (options) {
        if (options.mediation === 'conditional') offers++
        return get.call(this, options)
      }
    }`)
    await press(page, 'Log out')
    await expect.poll(() => page.evaluate('offers')).toBe(1)
    expect(await fieldOf(page, 'E-mail').getAttribute('autocomplete')).toBe('username webauthn')
    await page.clock.fastForward(250_000)
    await expect.poll(() => page.evaluate('offers')).toBe(2)
    await setTouch(true)
    await press(page, 'Log in with a passkey')
    await onPage(page, 'Profile')
    expect(faults()).toEqual([])
  })

  it('offers nothing that the server would refuse, and says how long to wait', async () => {
    const settings = { LOGIN_FIELD: 'username', RATE_LIMIT_LOGIN: '1' }
    await using other = await startApp({ database: app.database, settings })
    const user = await aUser(app)
    const { page } = await open({ at: await listen(other), hash: '#signup' })
    await onPage(page, 'There is no such page')
    await follow(page, 'Log in')
    await onPage(page, 'Log in')
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0)
    for (const password of ['wrong', 'wrong', 'wrong']) {
      await fieldOf(page, 'Username').fill(user.username)
      await fieldOf(page, 'Password').fill(password)
      await press(page, 'Log in')
      await page.getByRole('alert').filter({ visible: true }).waitFor()
    }
    await expect
      .poll(() => page.getByRole('alert').textContent())
      .toMatch(/^Too many attempts. Try again in \d+ (second|minute)s?\.$/)
  })

  it('can be served elsewhere, from an origin that CORS_ORIGINS names', async () => {
    const files = await findFiles()
    const copy = createServer(async ({ url = '/' }, response) => {
      const file = url === '/account/' ? 'index.html' : url.replace('/account/', '')
      const path = files.get(file)
      if (path === undefined) return response.writeHead(404).end()
      const text = await readFile(path, 'utf8')
      const type =
        { html: 'text/html', css: 'text/css', svg: 'image/svg+xml' }[file.split('.').at(-1) ?? ''] ??
        'text/javascript'
      return response
        .writeHead(200, { 'content-type': type })
        .end(text.replace('content="../"', `content="${api}/"`))
    })
    await new Promise<void>((resolve) => copy.listen(0, '127.0.0.1', resolve))
    const site = `http://localhost:${(copy.address() as AddressInfo).port}`
    await using other = await startApp({ database: app.database, settings: { CORS_ORIGINS: site } })
    const api = await listen(other)
    const user = await aUser(app)
    const { page } = await open({ at: site })
    await logIn(page, user.email)
    await onPage(page, 'Profile')
    copy.close()
  })

  it('offers no passkeys at an address that PASSKEY_ORIGINS does not name', async () => {
    const passkeyButton = (page: Page) => page.getByRole('button', { name: 'Log in with a passkey' })
    const { page } = await open()
    await onPage(page, 'Log in')
    expect(await passkeyButton(page).count()).toBe(1)
    const { page: other } = await open({ at: origin.replace('localhost', '127.0.0.1') })
    await onPage(other, 'Log in')
    expect(await passkeyButton(other).count()).toBe(0)
  })

  it.each(['constructor', '__proto__', 'nonsense'])('says that there is no page %s', async (name) => {
    const { page, faults } = await openLoggedIn()
    await page.goto(`${origin}/account/#${name}`)
    await onPage(page, 'There is no such page')
    await page.getByRole('main').getByRole('link', { name: 'Profile' }).click()
    await onPage(page, 'Profile')
    await press(page, 'Log out')
    await onPage(page, 'Log in')
    await page.goto(`${origin}/account/#${name}`)
    await onPage(page, 'There is no such page')
    expect(faults()).toEqual([])
  })

  it('ticks the rules that a new password keeps as it is typed, and shows and hides it', async () => {
    const { page } = await open({ hash: '#signup' })
    const ticked = page.locator('.rules .kept')
    await page.locator('.rules li').first().waitFor()
    expect(await ticked.count()).toBe(0)
    await fieldOf(page, 'Password').pressSequentially('horse')
    expect(await ticked.allTextContents()).not.toContain('At least 12 characters.')
    expect(await ticked.count()).toBeGreaterThan(0)
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    expect(await ticked.count()).toBe(await page.locator('.rules li').count())
    await press(page, 'Show: Password')
    expect(await fieldOf(page, 'Password').getAttribute('type')).toBe('text')
    await press(page, 'Hide: Password')
    expect(await fieldOf(page, 'Password').getAttribute('type')).toBe('password')
    expect(await page.getByText('Hide', { exact: true }).count()).toBe(0)
  })

  it('still has what was typed, but for the password, when the user comes back', async () => {
    const { page } = await open({ hash: '#signup' })
    await fieldOf(page, 'Name').fill('Grace')
    await fieldOf(page, 'E-mail').fill('grace-back@example.com')
    await fieldOf(page, 'Username').fill('grace-back')
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    await press(page, 'Create an account')
    await onPage(page, 'Enter the code')
    await page.goBack()
    await onPage(page, 'Create an account')
    const values = ['Name', 'E-mail', 'Username', 'Password'].map((label) =>
      fieldOf(page, label).inputValue(),
    )
    expect(await Promise.all(values)).toEqual(['Grace', 'grace-back@example.com', 'grace-back', ''])
    expect(JSON.stringify(await page.evaluate('history.state'))).not.toContain(NEW_PASSWORD)
    await page.goForward()
    await onPage(page, 'Enter the code')
  })

  /** Types a wrong code as often as one may, and returns what the page says then. */
  async function tireCode(page: Page, code: string, name: string): Promise<string | null> {
    const wrong = code === '000000' ? '000001' : '000000'
    const fault = page.locator('.fault').filter({ visible: true })
    for (let tries = 1; tries <= 5; tries++) {
      await fieldOf(page, 'Code of six digits').fill(wrong)
      const answered = page.waitForResponse((response) => response.request().method() === 'POST')
      await press(page, name)
      await answered
      await fault.filter({ hasText: tries < 5 ? 'is wrong' : 'Too many' }).waitFor()
      // It counts over a reload too.
      if (tries === 3) await page.reload()
    }
    return fault.textContent()
  }

  it('says when too many codes were wrong, and sends another one, at a reset', async () => {
    const user = await aUser(app)
    const { page } = await open({ hash: '#forgot' })
    await fieldOf(page, 'E-mail').fill(user.email)
    await press(page, 'Send me a code')
    await onPage(page, 'Enter the code')
    const first = await codeTo(app, user.email)
    expect(await tireCode(page, first, 'Confirm')).toBe('Too many wrong codes. Send another code.')
    await press(page, 'Send another code')
    await says(page, 'Only the newest one works.')
    await expect.poll(() => codeTo(app, user.email)).not.toBe(first)
    await fieldOf(page, 'Code of six digits').fill(await codeTo(app, user.email))
    await press(page, 'Confirm')
    await onPage(page, 'New password')
  })

  it('sends another code at a sign-up, and for a new e-mail', async () => {
    const { username } = await aUser(app)
    const email = `again-${username}@example.com`
    const { page } = await open({ hash: '#signup' })
    await fieldOf(page, 'Name').fill('Grace')
    await fieldOf(page, 'E-mail').fill(email)
    await fieldOf(page, 'Username').fill(`a${username}`.slice(0, 20))
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    await press(page, 'Create an account')
    await onPage(page, 'Enter the code')
    const first = await codeTo(app, email)
    await press(page, 'Send another code')
    await says(page, 'Only the newest one works.')
    await expect.poll(() => codeTo(app, email)).not.toBe(first)
    await fieldOf(page, 'Code of six digits').fill(await codeTo(app, email))
    await press(page, 'Create the account')
    await says(page, 'Your account is ready.')

    await fieldOf(page, 'New e-mail').fill(`new-${email}`)
    await fieldOf(page, 'Current password').fill(NEW_PASSWORD)
    await press(page, 'Change the e-mail')
    await says(page, `A code is on its way to new-${email}.`)
    await press(page, 'Send another code')
    expect(await fieldOf(page, 'New e-mail').inputValue()).toBe(`new-${email}`)
    await expect.poll(() => page.evaluate('document.activeElement.name')).toBe('current_password')
  })

  it('says that the texts of a language cannot be loaded, and stays in the present one', async () => {
    const { page } = await open()
    await onPage(page, 'Log in')
    await page.route('**/texts/fr.json', (route) => route.abort(), { times: 1 })
    await press(page, 'Français')
    await page.locator('#status.problem', { hasText: 'The server cannot be reached.' }).waitFor()
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    await press(page, 'Français')
    await onPage(page, 'Se connecter')
  })

  it('shows a sign of life until the first page is there, and while the next one is loaded', async () => {
    const { page } = await openPage(browser, origin)
    const held = Promise.withResolvers<void>()
    const hold = async (route: Route) => {
      await held.promise
      await route.fallback()
    }
    await page.route('**/account/settings.json', hold)
    await page.goto(`${origin}/account/`)
    await page.locator('.skeleton').first().waitFor()
    held.resolve()
    await onPage(page, 'Log in')
    expect(await page.locator('.skeleton').count()).toBe(0)

    const next = Promise.withResolvers<void>()
    await page.route('**/views/sign-up.js', async (route) => {
      await next.promise
      await route.fallback()
    })
    await follow(page, 'Create an account')
    await page.locator('body.loading').waitFor()
    next.resolve()
    await onPage(page, 'Create an account')
  })

  it('begins the login again where its second step has no challenge', async () => {
    const { page } = await open({ hash: '#second-step' })
    await onPage(page, 'Log in')
  })

  it.each([
    { locale: 'fr-CA', titles: ['Se connecter', 'Créer un compte', 'Mot de passe oublié ?'] },
    { locale: 'pt-BR', titles: ['Iniciar sessão', 'Criar uma conta', 'Esqueceu-se da palavra-passe?'] },
  ])('speaks the language of the browser: $locale', async ({ locale, titles }) => {
    const { page } = await open({ locale, viewport: { width: 320, height: 640 } })
    for (const [index, hash] of ['login', 'signup', 'forgot'].entries()) {
      await page.goto(`${origin}/account/#${hash}`)
      await onPage(page, titles[index] ?? '')
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    }
    expect(await page.locator('html').getAttribute('lang')).toBe(locale.slice(0, 2))
  })

  describe.each([
    { colorScheme: 'light', width: 1280 },
    { colorScheme: 'dark', width: 320 },
  ] as const)('at $width pixels, $colorScheme', ({ colorScheme, width }) => {
    const look = { colorScheme, viewport: { width, height: 640 } }

    async function expectAccessible(page: Page): Promise<void> {
      const { violations } = (await page.evaluate('axe.run()')) as axe.AxeResults
      expect(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)])).toEqual([])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width)
    }

    it('has pages without a fault that axe-core finds, before the login', async () => {
      const { page, faults } = await open(look)
      await page.goto(origin)
      await onPage(page, 'Latchkey runs')
      await page.getByRole('main').waitFor()
      await expectAccessible(page)
      for (const [hash, title] of [
        ['nonsense', 'There is no such page'],
        ['login', 'Log in'],
        ['signup', 'Create an account'],
        ['forgot', 'Forgot your password?'],
        ['code', 'Enter the code'],
      ] as const) {
        await page.goto(`${origin}/account/#${hash}`)
        await onPage(page, title)
        await expectAccessible(page)
        if (hash === 'nonsense') continue
        await page.locator('main form .primary').click()
        await says(page, 'Fill this in.')
        await expectAccessible(page)
      }
      expect(faults()).toEqual([])
    })

    it('has pages without a fault that axe-core finds, after the login', async () => {
      const { page, faults, user } = await openLoggedIn(look)
      await fieldOf(page, 'New e-mail').fill(`${'long'.repeat(15)}-${user.email}`)
      await fieldOf(page, 'Current password').fill(PASSWORD)
      await press(page, 'Change the e-mail')
      await says(page, 'A code is on its way')
      await expectAccessible(page)
      for (const [hash, title] of [
        ['security', 'Security'],
        ['devices', 'Devices'],
        ['delete', 'Delete your account'],
        ['add-passkey', 'Add a passkey'],
        ['add-app', 'Add an authenticator app'],
      ] as const) {
        await page.goto(`${origin}/account/#${hash}`)
        await onPage(page, title)
        await expectAccessible(page)
      }
      await addApp(page)
      const secret = new URL(await scan(page)).searchParams.get('secret') ?? ''
      await expectAccessible(page)
      await fieldOf(page, 'Code that the app shows').fill(codeAt(secret, Date.now()))
      await press(page, 'Confirm')
      await onPage(page, 'Recovery codes')
      await expectAccessible(page)
      app.setClock(Date.now() + FIVE_MINUTES_MS + STEP_MS)
      await press(page, 'I have stored them')
      await page.getByText('Rename', { exact: true }).click()
      await expectAccessible(page)
      await openQuestion(page, 'Remove')
      await openQuestion(page, 'New recovery codes')
      await expectAccessible(page)
      await press(page, 'Show new codes')
      await onDialog(page).waitFor()
      await expectAccessible(page)
      expect(faults()).toEqual([])
    })

    it('has pages without a fault that axe-core finds, between two steps', async () => {
      const { page, faults, user } = await openLoggedIn(look)
      await addAuthenticator(page)
      await page.goto(`${origin}/account/#add-passkey`)
      await addApp(page)
      await press(page, 'I have stored them')
      await press(page, 'Log out')
      await logIn(page, user.email)
      await onPage(page, 'One more step')
      await expectAccessible(page)
      await fieldOf(page, 'Code').fill('000000')
      await press(page, 'Log in')
      await says(page, 'This code is wrong or was used.')
      await expectAccessible(page)

      await page.goto(`${origin}/account/#forgot`)
      await fieldOf(page, 'E-mail').fill(user.email)
      await press(page, 'Send me a code')
      await onPage(page, 'Enter the code')
      await fieldOf(page, 'Code of six digits').fill(await codeTo(app, user.email))
      await press(page, 'Confirm')
      await onPage(page, 'New password')
      await expectAccessible(page)
      await press(page, 'Set the password')
      await says(page, 'Fill this in.')
      await expectAccessible(page)

      await page.goto(`${origin}/account/#signup`)
      await fieldOf(page, 'Name').fill('Grace')
      await fieldOf(page, 'E-mail').fill(`grace-${user.email}`)
      await fieldOf(page, 'Username').fill(`g${user.username}`.slice(0, 20))
      await fieldOf(page, 'Password').fill(NEW_PASSWORD)
      await press(page, 'Create an account')
      await onPage(page, 'Enter the code')
      await expectAccessible(page)
      expect(faults()).toEqual([])
    })
  })
})
