import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hasBrowser, openBrowser, openPage } from '../../test/browser.ts'
import { aToken, aUser, bearer, codeTo, PASSWORD, startApp, type TestApp } from './support/start-app.ts'

const EXAMPLE = join(import.meta.dirname, '../../../docs/examples/browser-app')
const NEW_PASSWORD = 'an0ther-Horse!'

/** The example as a server of another origin serves it. */
async function servePage(api: () => string) {
  const server = createServer(async ({ url = '/' }, response) => {
    const file = url === '/' ? 'index.html' : url.slice(1)
    const text = await readFile(join(EXAMPLE, file), 'utf8').catch(() => undefined)
    if (text === undefined) return response.writeHead(404).end()
    const type = file.endsWith('.js') ? 'text/javascript' : 'text/html'
    return response.writeHead(200, { 'content-type': type }).end(text.replace('http://localhost:8080', api()))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://localhost:${port}`, close: () => server.close() }
}

describe.skipIf(!hasBrowser)('the example of a browser app', () => {
  let app: TestApp
  let browser: Browser
  let site: Awaited<ReturnType<typeof servePage>>
  let api = ''
  beforeAll(async () => {
    site = await servePage(() => api)
    app = await startApp({
      settings: { CORS_ORIGINS: site.origin, EMAIL_CHANGE: 'confirmed', SIGN_UP: 'on' },
    })
    api = await app.server.listen({ host: '127.0.0.1', port: 0 })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    site.close()
    await app[Symbol.asyncDispose]()
  })

  async function openExample(): Promise<Page> {
    const { page } = await openPage(browser, site.origin)
    await page.clock.install()
    await page.goto(site.origin)
    return page
  }

  async function logIn(page: Page, email: string, password = PASSWORD): Promise<void> {
    await fieldOf(page, 'E-mail').fill(email)
    await fieldOf(page, 'Password').fill(password)
    await page.getByRole('button', { name: 'Log in' }).click()
  }

  /** The visible field; forms of other steps have fields of the same name. */
  const fieldOf = (page: Page, label: string) =>
    page.getByLabel(label, { exact: true }).filter({ visible: true })

  const tokenOf = async (page: Page): Promise<string | undefined> =>
    (
      JSON.parse((await page.evaluate(() => sessionStorage.getItem('latchkey-session'))) ?? '{}') as {
        token?: string
      }
    ).token

  const statusOf = async (token = '') =>
    (await app.server.inject({ url: '/profile', headers: bearer(token) })).statusCode

  it('logs in, refreshes its token by itself, lasts a reload and logs out', async () => {
    const user = await aUser(app)
    const page = await openExample()
    await logIn(page, user.email, 'wrong')
    await page.getByText('The username or the password is wrong').waitFor()
    await logIn(page, user.email)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
    const first = await tokenOf(page)

    await fieldOf(page, 'Another name').fill('Zoë 🗝')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('heading', { name: 'Zoë 🗝' }).waitFor()

    const { lifetimeSeconds } = app.config.tokens
    app.setClock(Date.now() + (lifetimeSeconds - 200) * 1000)
    await page.clock.fastForward((lifetimeSeconds - 200) * 1000)
    await expect.poll(() => tokenOf(page)).not.toBe(first)
    const second = await tokenOf(page)
    expect(await statusOf(second)).toBe(200)

    await page.reload()
    await page.getByRole('heading', { name: 'Zoë 🗝' }).waitFor()
    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await tokenOf(page)).toBeUndefined()
    expect(await statusOf(second)).toBe(401)
    app.setClock(undefined)
  })

  it('goes back to its login when the token was revoked', async () => {
    const user = await aUser(app)
    const page = await openExample()
    await logIn(page, user.email)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
    await app.server.inject({
      method: 'POST',
      url: '/logout',
      headers: bearer((await tokenOf(page)) ?? ''),
      payload: { everywhere: true },
    })
    await fieldOf(page, 'Another name').fill('Eve')
    await page.getByRole('button', { name: 'Rename' }).click()
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    expect(await tokenOf(page)).toBeUndefined()
  })

  it('resets a password, and says what the policy requires', async () => {
    const user = await aUser(app)
    const page = await openExample()
    await page.getByRole('button', { name: 'I forgot my password' }).click()
    await fieldOf(page, 'E-mail').fill(user.email)
    await page.getByRole('button', { name: 'Send me a code' }).click()
    await page.getByText('a code is on its way').waitFor()
    await fieldOf(page, 'Code').fill(await codeTo(app, user.email))
    await page.getByRole('button', { name: 'Confirm' }).click()
    await fieldOf(page, 'New password').fill('short')
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('At least 12 characters.').waitFor()
    await fieldOf(page, 'New password').fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Set the password' }).click()
    await page.getByText('The password is changed').waitFor()
    await logIn(page, user.email, NEW_PASSWORD)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
  })

  it('changes the password, which ends the sessions of other devices and no tab of this one', async () => {
    const user = await aUser(app)
    const elsewhere = await aToken(app, user)
    const page = await openExample()
    await logIn(page, user.email)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()

    const change = async (currentPassword: string) => {
      await fieldOf(page, 'Current password').fill(currentPassword)
      await fieldOf(page, 'New password').fill(NEW_PASSWORD)
      await page.getByRole('button', { name: 'Change the password' }).click()
    }
    await change('wrong')
    await page.getByText('current password is wrong').waitFor()
    await change(PASSWORD)
    await page.getByText('The password is changed').waitFor()
    expect([await statusOf(elsewhere), await statusOf(await tokenOf(page))]).toEqual([401, 200])

    await page.reload()
    await page.getByRole('button', { name: 'Log out everywhere' }).click()
    await logIn(page, user.email, NEW_PASSWORD)
    await page.getByRole('heading', { name: 'Ada' }).waitFor()
  })

  it('changes the e-mail once the code of its mail is entered, also after a reload', async () => {
    const user = await aUser(app)
    const email = `new-${user.email}`
    const page = await openExample()
    await logIn(page, user.email)
    await fieldOf(page, 'New e-mail').fill(email)
    await fieldOf(page, 'Your password').fill(PASSWORD)
    await page.getByRole('button', { name: 'Change the e-mail' }).click()
    await page.getByText(`on its way to ${email}`).waitFor()
    await page.reload()
    await page.getByText(`${user.email}, `).waitFor()

    await fieldOf(page, 'Code').fill(await codeTo(app, email))
    await page.getByRole('button', { name: 'Confirm the e-mail' }).click()
    await page.getByText('The e-mail is changed').waitFor()
    await page.getByText(`${email}, `).waitFor()
    expect(await fieldOf(page, 'Code').count()).toBe(0)
  })

  it('signs up with the code of the mail, under another username where the first is taken', async () => {
    const { username } = await aUser(app)
    const email = `grace-${username}@example.com`
    const page = await openExample()
    await page.getByRole('button', { name: 'Create an account' }).click()
    await fieldOf(page, 'Name').fill('Grace')
    await fieldOf(page, 'E-mail').fill(email)
    await fieldOf(page, 'Username').fill(username)
    await fieldOf(page, 'Password').fill('short')
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByText('At least 12 characters.').waitFor()
    await fieldOf(page, 'Password').fill(NEW_PASSWORD)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByText(`a mail to ${email}`).waitFor()

    await fieldOf(page, 'Code').fill(await codeTo(app, email))
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByText('already').waitFor()
    await fieldOf(page, 'Another username').fill(`g${username}`.slice(0, 20))
    await page.getByRole('button', { name: 'Create the account' }).click()
    await page.getByRole('heading', { name: 'Grace' }).waitFor()
    expect(await statusOf(await tokenOf(page))).toBe(200)

    await page.getByRole('button', { name: 'Log out', exact: true }).click()
    await logIn(page, email, NEW_PASSWORD)
    await page.getByRole('heading', { name: 'Grace' }).waitFor()
  })

  it('says that nobody can sign up where SIGN_UP is off', async () => {
    const page = await openExample()
    // As the service answers then; a real one would take seconds.
    await page.route('**/signup', (route) =>
      route.fulfill({
        status: 404,
        json: { status: 404, title: 'Not Found' },
        headers: { 'access-control-allow-origin': '*' },
      }),
    )
    await page.getByRole('button', { name: 'Create an account' }).click()
    for (const [label, value] of [
      ['Name', 'Grace'],
      ['E-mail', 'a@example.com'],
      ['Username', 'a'],
      ['Password', 'a'],
    ] as const)
      await fieldOf(page, label).fill(value)
    await page.getByRole('button', { name: 'Sign up' }).click()
    await page.getByText('Nobody can sign up at this server').waitFor()
  })
})
