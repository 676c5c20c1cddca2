import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { hasBrowser, openBrowser, openPage } from '@latchkey/test-support/browser.ts'
import { decodeJwt } from 'jose'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { factorSettings, post } from './support/factors.ts'
import { aToken, startApp, type TestApp } from './support/start-app.ts'

const DOCS = await readFile(join(import.meta.dirname, '../../../docs/how-to/use-from-your-app.md'), 'utf8')
const [CREATE = '', GET = ''] = [...DOCS.matchAll(/^ {3}```js\n([\s\S]*?)^ {3}```/gm)].map(
  ([, code = '']) => code,
)

/** A page of the origin on which passkeys are used; the test runs the script. */
async function servePage() {
  const server = createServer((_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Passkeys</title>'),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { origin: `http://localhost:${port}`, close: () => server.close() }
}

describe.skipIf(!hasBrowser)('a passkey in Chromium', () => {
  let app: TestApp
  let browser: Browser
  let site: Awaited<ReturnType<typeof servePage>>
  beforeAll(async () => {
    site = await servePage()
    app = await startApp({ settings: factorSettings({ PASSKEY_ORIGINS: site.origin }) })
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    site.close()
    await app[Symbol.asyncDispose]()
  })

  async function openWithAuthenticator(): Promise<{
    page: Page
    setCounter: (count: number) => Promise<void>
  }> {
    const { page } = await openPage(browser, site.origin)
    await page.goto(site.origin)
    const devTools = await page.context().newCDPSession(page)
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
    return {
      page,
      async setCounter(signCount) {
        const { credentials } = await devTools.send('WebAuthn.getCredentials', { authenticatorId })
        await devTools.send('WebAuthn.clearCredentials', { authenticatorId })
        for (const credential of credentials)
          await devTools.send('WebAuthn.addCredential', {
            authenticatorId,
            credential: { ...credential, signCount },
          })
      },
    }
  }

  /** Runs what the page of the documentation says, and returns the credential. */
  const run = (page: Page, snippet: string, publicKey: unknown): Promise<unknown> =>
    page.evaluate(`(async () => {
      const answer = ${JSON.stringify({ publicKey })}
      ${snippet}
      return credential
    })()`)

  const publicKeyOf = async (url: string, payload: object, token?: string) =>
    (await post(app, url, payload, token)).json().publicKey

  it('is created, logs in alone and after the password, and is refused once it was copied', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const { page, setCounter } = await openWithAuthenticator()
    const options = await publicKeyOf('/profile/factors/passkey', { current_password: PASSWORD }, token)
    const credential = await run(page, CREATE, options)
    const added = await post(app, '/profile/factors/passkey/confirm', { name: 'Chromium', credential }, token)
    expect(added.statusCode, added.body).toBe(200)

    const alone = await run(page, GET, await publicKeyOf('/login/passkey/options', {}))
    const won = await post(app, '/login/passkey', { credential: alone })
    expect(won.statusCode, won.body).toBe(200)
    expect(won.json().data.userid).toBe(user.userid)
    expect(decodeJwt(won.json().token)).toMatchObject({ amr: ['hwk', 'user', 'mfa'] })
    expect((await post(app, '/login/passkey', { credential: alone })).statusCode, 'again').toBe(422)

    const login = { username: user.email, password: PASSWORD }
    const { challenge } = (await post(app, '/login', login)).json()
    const second = await run(page, GET, await publicKeyOf('/login/passkey/options', { challenge }))
    const both = await post(app, '/login/passkey', { credential: second })
    expect(both.statusCode, both.body).toBe(200)

    await setCounter(0)
    const copied = await run(page, GET, await publicKeyOf('/login/passkey/options', {}))
    const refused = await post(app, '/login/passkey', { credential: copied })
    expect(refused.json()).toMatchObject({ status: 422, type: 'urn:latchkey:problem:passkey-refused' })
    expect(app.logLines.join('\n')).toContain('passkey.copied')
  })
})
