import { factorSettings } from '@latchkey/auth-api/test/support/factors.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser } from '@latchkey/test-support/browser.ts'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../src/client.js'
import type * as Passkeys from '../src/passkeys.js'
import { type Site, startSite } from './site.ts'

declare global {
  // The page has these.
  var client: Client
  var passkeys: typeof Passkeys
}

describe.skipIf(!hasBrowser)('passkeys of a client in Chromium', () => {
  let browser: Browser
  let site: Site
  beforeAll(async () => {
    browser = await openBrowser()
    site = await startSite({ settings: factorSettings() })
  })
  afterAll(async () => {
    await browser?.close()
    await site[Symbol.asyncDispose]()
  })

  async function openWithAuthenticator() {
    const context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${site.origin}/?session=cookie`)
    await page.waitForFunction(() => 'client' in globalThis)
    const devTools = await context.newCDPSession(page)
    await devTools.send('WebAuthn.enable')
    const { authenticatorId } = await devTools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        protocol: 'ctap2',
        transport: 'internal',
        hasResidentKey: true,
        hasUserVerification: true,
        isUserVerified: true,
      },
    })
    const verify = (isUserVerified: boolean) =>
      devTools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    return { page, verify, [Symbol.asyncDispose]: () => context.close() }
  }

  const refusal = <T>(page: Page, run: (given: T) => Promise<unknown>, given?: T): Promise<string> =>
    page.evaluate(
      `(${run})(${JSON.stringify(given)}).then(() => 'not refused', ({ name, type }) => name + ' ' + type)`,
    )

  it('are added, log in alone and after the password, and confirm the login', async () => {
    const user = await aUser(site.app)
    await using opened = await openWithAuthenticator()
    const { page } = opened
    const credentials = { username: user.email, password: PASSWORD }
    await page.evaluate((given) => client.logIn(given), credentials)
    const added = await page.evaluate(
      (current_password) => passkeys.addPasskey(client, { name: 'Laptop', current_password }),
      PASSWORD,
    )
    expect(added.recovery_codes).toHaveLength(10)
    const again = (current_password: string) => passkeys.addPasskey(client, { current_password })
    expect(await refusal(page, again, PASSWORD)).toBe('LatchkeyError urn:latchkey:client:passkey-exists')
    const raised = await page.evaluate(() => passkeys.stepUpByPasskey(client))
    expect(raised.data.userid).toBe(user.userid)
    expect(await page.evaluate(() => client.token())).toBe(raised.token)
    await page.evaluate(() => client.logOut())

    expect(await page.evaluate(() => passkeys.canOfferPasskeys())).toBe(true)
    expect(await page.evaluate(() => passkeys.logInByPasskey(client))).toMatchObject({ userid: user.userid })
    expect(await page.evaluate(() => client.request('GET', '/sessions'))).toMatchObject({
      sessions: [{ current: true, remembered: true }],
    })
    await page.evaluate(() => client.logOut())

    const challenge = await page.evaluate(
      (given) => client.logIn(given).then(String, ({ problem }) => String(problem.challenge)),
      credentials,
    )
    const second = await page.evaluate(
      (given) => passkeys.logInByPasskey(client, { challenge: given, remember: false }),
      challenge,
    )
    expect(second.userid).toBe(user.userid)
    expect(await page.evaluate(() => localStorage.length)).toBe(0)
  })

  it('say that the user has cancelled', async () => {
    const user = await aUser(site.app)
    await using opened = await openWithAuthenticator()
    const { page } = opened
    await page.evaluate((given) => client.logIn(given), { username: user.email, password: PASSWORD })
    const offer = refusal(page, () => passkeys.choosePasskey(client, { mediation: 'conditional' }))
    // The next ceremony ends the offer, and the user is not verified in it.
    await opened.verify(false)
    expect(await refusal(page, () => passkeys.logInByPasskey(client))).toBe(
      'LatchkeyError urn:latchkey:client:passkey-cancelled',
    )
    expect(await offer).toBe('LatchkeyError urn:latchkey:client:passkey-cancelled')
  })
})
