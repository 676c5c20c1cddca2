import { aUser, PASSWORD as OLD_PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import getPort from 'get-port'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, codeTo, logIn, mailTo, startApp, type TestApp } from './support/start-app.ts'

const PASSWORD = 'an0ther-Horse!'

describe.skipIf(!hasBrowser)('the link of a mail, in a browser that did not send the request', () => {
  let app: TestApp
  let browser: Browser
  let origin = ''
  beforeAll(async () => {
    const port = await getPort()
    origin = `http://localhost:${port}`
    const settings = { API_SERVER: origin, SIGN_UP: 'on', LOGIN_BY_MAIL: 'on', EMAIL_CHANGE: 'confirmed' }
    app = await startApp({ settings })
    await app.server.listen({ host: '127.0.0.1', port })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await app[Symbol.asyncDispose]()
  })

  const post = (url: string, payload: object) => app.server.inject({ method: 'POST', url, payload })
  const fieldOf = (page: Page, label: string) => page.getByLabel(label, { exact: true })
  const press = (page: Page, name: string) => page.getByRole('button', { name, exact: true }).click()
  const onPage = (page: Page, title: string) =>
    page.getByRole('heading', { level: 1, name: title, exact: true }).waitFor()

  /** Opens the newest link that was mailed to an address; `sent` are the requests of the page that change something. */
  async function open(email: string) {
    const { variables } = await mailTo(app, email)
    const { page, faults } = await openPage(browser, origin)
    const sent: string[] = []
    page.on('request', (request) => {
      if (request.method() !== 'GET') sent.push(request.url().slice(origin.length))
      expect(request.url()).not.toContain(variables.code)
    })
    await page.goto(variables.link ?? '')
    return { page, faults, sent, code: variables.code ?? '' }
  }

  it('fills in a reset, and does nothing by itself', async () => {
    const { email } = await aUser(app)
    await post('/login/resetrequest', { email })
    const { page, sent, code } = await open(email)
    await onPage(page, 'Enter the code')
    expect(await fieldOf(page, 'Code of six digits').inputValue()).toBe(code)
    expect(page.url()).toBe(`${origin}/account/#code`)
    expect(sent).toEqual([])
    await press(page, 'Confirm')
    await onPage(page, 'New password')
    await fieldOf(page, 'New password').fill(PASSWORD)
    await press(page, 'Set the password')
    await onPage(page, 'Log in')
    expect((await logIn(app, email, PASSWORD)).statusCode).toBe(200)
  })

  it('fills in a sign-up, and asks for its password', async () => {
    const email = `new-${crypto.randomUUID()}@example.com`
    await post('/signup', { email, username: email.slice(0, 20), password: PASSWORD })
    const { page, sent } = await open(email)
    const password = fieldOf(page, 'Password that you chose when you signed up')
    await password.fill('an0ther-Pony!')
    expect(sent).toEqual([])
    await press(page, 'Create the account')
    await page.getByText('The current password is wrong.').waitFor()
    await password.fill(PASSWORD)
    await press(page, 'Create the account')
    await onPage(page, 'Profile')
  })

  it('fills in a login, names its account, and logs in when asked to', async () => {
    const { email } = await aUser(app)
    await post('/login/code', { email })
    const { page, sent, code } = await open(email)
    await onPage(page, 'Log in by mail')
    await page.getByText(`You log in as ${email}.`).waitFor()
    expect(await fieldOf(page, 'Code of six digits').inputValue()).toBe(code)
    expect(sent.filter((url) => url !== '/refreshtoken')).toEqual([])
    await press(page, 'Log in')
    await onPage(page, 'Profile')
  })

  it('leaves whoever is logged in where they are, whatever login it is of', async () => {
    const [user, other] = [await aUser(app), await aUser(app)]
    await post('/login/code', { email: other.email })
    const { variables } = await mailTo(app, other.email)
    const { page } = await openPage(browser, origin)
    await page.goto(`${origin}/account/#mail-login`)
    await fieldOf(page, 'E-mail').fill(user.email)
    await press(page, 'Send me a code')
    await page.getByText(`If ${user.email} has an account`).waitFor()
    await fieldOf(page, 'Code of six digits').fill(await codeTo(app, user.email, 'login-code'))
    await press(page, 'Log in')
    await onPage(page, 'Profile')
    await page.goto(variables.link ?? '')
    await onPage(page, 'Profile')
    await page.getByText(user.username).first().waitFor()
  })

  it('fills in a change of e-mail after the login that it needs', async () => {
    const user = await aUser(app)
    const email = `new-${crypto.randomUUID()}@example.com`
    await app.server.inject({
      method: 'PUT',
      url: '/profile',
      payload: { email, current_password: OLD_PASSWORD },
      headers: bearer(await aToken(app, user)),
    })
    const { page, sent, code } = await open(email)
    await fieldOf(page, 'E-mail').fill(user.email)
    await fieldOf(page, 'Password').fill(OLD_PASSWORD)
    await press(page, 'Log in')
    await onPage(page, 'Profile')
    expect(await fieldOf(page, 'Code of six digits').inputValue()).toBe(code)
    expect(sent).toEqual(['/login'])
    await press(page, 'Confirm the e-mail')
    await page.getByText('The e-mail is changed.').first().waitFor()
  })

  it('leads to the login where the page is unknown, and takes nothing else from a link', async () => {
    const { page } = await openPage(browser, origin)
    await page.goto(`${origin}/account/#constructor?next=security&challenge=x&username=mallory&code=1`)
    await onPage(page, 'Log in')
    expect(await fieldOf(page, 'E-mail').inputValue()).toBe('')
    expect(await page.evaluate('Object.keys(history.state)')).toEqual(['email', 'code', 'token'])
  })
})
