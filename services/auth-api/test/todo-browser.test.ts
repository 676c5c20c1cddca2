import { spawn } from 'node:child_process'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { join } from 'node:path'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import { findFreePort } from '@latchkey/test-support/free-port.ts'
import { SignJWT } from 'jose'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createVerify } from '../../../docs/examples/todo/verify.ts'
import { aToken, codeTo, startApp, type TestApp } from './support/start-app.ts'

const TODO = join(import.meta.dirname, '../../../docs/examples/todo')
const { privateKey } = generateKeyPairSync('ed25519', {
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
})

describe.skipIf(!hasBrowser)('the sample of a product', () => {
  let app: TestApp
  let browser: Browser
  let sample: ReturnType<typeof spawn>
  let origin = ''
  beforeAll(async () => {
    const [port, port2] = [await findFreePort(), await findFreePort()]
    origin = `http://localhost:${port2}`
    const latchkey = `http://localhost:${port}`
    app = await startApp({
      settings: {
        API_SERVER: latchkey,
        CORS_ORIGINS: origin,
        SIGN_UP: 'on',
        JWT_ALGORITHM: 'EdDSA',
        JWT_PRIVATE_KEY: privateKey,
      },
    })
    await app.server.listen({ host: '127.0.0.1', port })
    sample = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'server.ts'], {
      cwd: TODO,
      env: { PATH: process.env.PATH, PORT: String(port2), LATCHKEY: latchkey, DATABASE: ':memory:' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const [line] = await once(sample.stdout as NodeJS.ReadableStream, 'data')
    expect(String(line)).toBe(`Open ${origin}\n`)
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    sample.kill()
    await once(sample, 'exit')
    await app[Symbol.asyncDispose]()
  })

  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  const open = async (options?: BrowserContextOptions) => {
    const { page } = await openPage(browser, origin, options)
    await page.goto(origin)
    return page
  }
  async function openLoggedIn(username: string): Promise<Page> {
    const page = await open()
    await page.getByLabel('E-mail').fill(username)
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(page, 'Log in')
    await page.getByText('Logged in as').waitFor()
    return page
  }
  async function add(page: Page, title: string): Promise<void> {
    await page.getByLabel('New').fill(title)
    await press(page, 'Add')
    await page.getByText(title).waitFor()
  }
  const asApi = (token: string, method = 'GET', path = '') =>
    fetch(`${origin}/api/todos${path}`, { method, headers: { authorization: `Bearer ${token}` } })

  it('lets a user sign up, close the browser and come back', async () => {
    const page = await open()
    await page.getByLabel('E-mail').fill('grace@example.com')
    await page.getByLabel('Password', { exact: true }).fill(PASSWORD)
    await press(page, 'Sign up')
    await page.getByLabel('Code of the mail').fill(await codeTo(app, 'grace@example.com', 'sign-up'))
    await page.locator('#code').getByRole('button', { name: 'Confirm' }).click()
    await add(page, '<b>milk</b>')
    const storageState = await page.context().storageState()
    await page.context().close()
    const later = await open({ storageState })
    await later.getByText('<b>milk</b>').waitFor()
    // No script can read what keeps the user logged in.
    expect(await later.evaluate('JSON.stringify([document.cookie, { ...localStorage }])')).not.toMatch(
      /refresh_?token/i,
    )
  })

  it('is logged out with the session, wherever that was ended', async () => {
    const user = await aUser(app)
    const page = await openLoggedIn(user.email)
    const phone = await openLoggedIn(user.email)
    await press(phone, 'Log out')
    await phone.locator('#login').waitFor()
    await page.reload()
    await page.getByText('Logged in as').waitFor()
    await app.server.inject({
      method: 'POST',
      url: '/logout',
      payload: { everywhere: true },
      headers: { authorization: `Bearer ${await aToken(app, user)}` },
    })
    await page.evaluate(() => {
      // An hour later: the token that the page has is of no use.
      const [key = '', value = ''] = Object.entries(localStorage)[0] ?? []
      localStorage.setItem(key, JSON.stringify({ ...JSON.parse(value), expiresAt: 0, attemptedAt: 0 }))
    })
    await page.reload()
    await page.locator('#login').waitFor()
  })

  it('says that it is loading, and what failed', async () => {
    const page = await openLoggedIn((await aUser(app)).email)
    const held = Promise.withResolvers<void>()
    await page.route('**/api/todos', async (route) => {
      await held.promise
      await route.fulfill({ status: 500 })
    })
    await page.getByLabel('New').fill('milk')
    await press(page, 'Add')
    await page.getByText('Loading …').waitFor()
    held.resolve()
    await page.getByText('The server has answered 500').waitFor()
    expect(await page.getByLabel('New').inputValue()).toBe('milk')
  })

  it('shows nobody the rows of another user', async () => {
    const [ada, eve] = [await aUser(app), await aUser(app)]
    await add(await openLoggedIn(ada.email), 'milk')
    const [mine, hers] = await Promise.all([aToken(app, ada), aToken(app, eve)])
    const [{ id }] = (await (await asApi(mine)).json()) as { id: number }[] as [{ id: number }]
    expect(await (await asApi(hers)).json()).toEqual([])
    expect((await asApi(hers, 'DELETE', `/${id}`)).status).toBe(204)
    expect(await (await asApi(mine)).json()).toHaveLength(1)
    expect((await asApi('')).status).toBe(401)
  })
})

describe('the verification of the sample', () => {
  const issuer = 'https://id.example.com'
  const secret = randomBytes(64)
  const now = Math.floor(Date.now() / 1000)
  const claims = { sub: 'ada', iss: issuer, exp: now + 60, auth_time: now - 301, data: { role: 'user' } }
  const sign = (changes: object, key: Uint8Array = secret) =>
    new SignJWT({ ...claims, ...changes }).setProtectedHeader({ alg: 'HS512' }).sign(key)
  const check = async (
    token: string,
    demand?: object,
    by = createVerify(issuer, secret.toString('base64')),
  ) =>
    by({ headers: { authorization: `Bearer ${token}` } }, demand).then(
      ({ sub }) => sub,
      ({ statusCode, headers }) => `${statusCode} ${headers['www-authenticate']}`,
    )
  const INVALID = '401 Bearer error="invalid_token"'
  const STEP_UP = '401 Bearer error="insufficient_user_authentication"'

  it.each<[string, object, object | undefined, string]>([
    ['a token', {}, undefined, 'ada'],
    ['the role of the route', {}, { role: 'user' }, 'ada'],
    ['another role', {}, { role: 'admin' }, '403 Bearer error="insufficient_scope"'],
    ['a second factor', { amr: ['pwd', 'otp', 'mfa'] }, { amr: 'mfa' }, 'ada'],
    ['no second factor', { amr: undefined }, { amr: 'mfa' }, STEP_UP],
    ['a login of the last minutes', { auth_time: now - 100 }, { maxAgeSeconds: 300 }, 'ada'],
    ['an older login', {}, { maxAgeSeconds: 300 }, STEP_UP],
    ['another issuer', { iss: 'https://evil.example.com' }, undefined, INVALID],
    ['a token that has expired', { exp: now - 1 }, undefined, INVALID],
    ['a token without an expiry', { exp: undefined }, undefined, INVALID],
  ])('judges %s', async (_name, changes, demand, expected) => {
    expect(await check(await sign(changes), demand)).toBe(expected)
  })

  it('refuses another secret, no token, and none where the keys cannot be fetched', async () => {
    expect(await check(await sign({}, randomBytes(64)))).toBe(INVALID)
    expect(await check('')).toBe(INVALID)
    expect(await check(await sign({}), {}, createVerify('http://127.0.0.1:1'))).toBe(INVALID)
    const { privateKey: key } = generateKeyPairSync('ed25519')
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'EdDSA' }).sign(key)
    expect(await check(token, {}, createVerify('http://127.0.0.1:1'))).toBe(
      '503 Bearer error="invalid_token"',
    )
  })
})
