import type { Identity, IdentityProvider } from '../../src/features/identity-providers/identity-provider.ts'
import { aBrowser } from './provider-browser.ts'
import type { TestApp } from './start-app.ts'

/** A provider that says at once who came, for tests whose subject is what follows. */
export function aFakeProvider(label = 'Fake') {
  let next: Identity | undefined
  const provider: IdentityProvider = {
    label,
    begin: async () => {
      const state = crypto.randomUUID()
      return {
        url: new URL(`https://provider.example/?state=${state}`),
        secrets: { state, nonce: '', codeVerifier: '' },
      }
    },
    complete: async () => {
      if (!next) throw new Error('Nobody came')
      return next
    },
  }

  return {
    provider,
    /** Comes back from the provider as a person; returns what the page exchanges. */
    async comeBack(app: Pick<TestApp, 'server'>, given: Partial<Identity> = {}, name = 'fake') {
      const subject = crypto.randomUUID()
      next = { subject, isEmailVerified: true, hasSecondFactor: false, ...given }
      const browser = aBrowser(app)
      const { location, page } = await browser.begin(name)
      const callback = `/login/with/${name}/callback?${new URL(location).searchParams}&code=code`
      const { headers } = await browser.visit(callback)
      const code = new URL(headers.location ?? '').searchParams.get('code') ?? ''
      return { code, code_verifier: page.verifier, subject: next.subject }
    },
  }
}
