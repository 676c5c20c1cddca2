import { BAN_PROPERTY, UNCONFIRMED_PROPERTY } from '@latchkey/shared/users/account-state.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { codeAt, enrol, factorSettings, post } from './support/factors.ts'
import { CLIENTS, type OpenidIssuer, type Person, startOpenidIssuer } from './support/openid-issuer.ts'
import { APP_PAGE, aBrowser, aPage } from './support/provider-browser.ts'
import {
  aToken,
  bearer,
  codeTo,
  logIn,
  mailTo,
  softDelete,
  startApp,
  type TestApp,
} from './support/start-app.ts'

let issuer: OpenidIssuer
let app: TestApp

const providerSettings = (name: string, client: keyof typeof CLIENTS, given: object = {}) => {
  const prefix = `OIDC_${name.toUpperCase()}_`
  const { client_secret = '' } = { client_secret: '', ...CLIENTS[client] }
  const settings = { ISSUER: issuer.issuer, CLIENT_ID: client, CLIENT_SECRET: client_secret, ...given }
  return Object.fromEntries(Object.entries(settings).map(([key, value]) => [prefix + key, value]))
}

const PROVIDERS = Object.keys(CLIENTS)

const startWith = (settings: Record<string, string>) =>
  startApp({
    settings: {
      SIGN_UP: 'on',
      REVOCATION_CACHE: '0',
      CORS_ORIGINS: new URL(APP_PAGE).origin,
      OIDC_PROVIDERS: PROVIDERS.join(','),
      ...providerSettings('basic', 'basic', { LABEL: 'Example & Co' }),
      ...providerSettings('post', 'post'),
      ...providerSettings('public', 'public'),
      ...settings,
    },
  })

beforeAll(async () => {
  issuer = await startOpenidIssuer({
    callbacks: PROVIDERS.map((name) => `http://localhost:8080/login/with/${name}/callback`),
  })
  app = await startWith({})
})
afterAll(async () => {
  await app[Symbol.asyncDispose]()
  await issuer[Symbol.asyncDispose]()
})

const aPerson = (given: Partial<Person> = {}): Person => {
  const sub = crypto.randomUUID()
  return { sub, email: `${sub.slice(0, 8)}@example.com`, email_verified: true, name: 'Ada', ...given }
}

/** Logs a person in with a provider, until the code of the page. */
async function comeBack(person: Person | undefined, provider = 'basic') {
  issuer.person = person
  return aBrowser(app).logIn(provider)
}

const exchange = (code: string, verifier: string, on = app) =>
  post(on, '/login/exchange', { code, code_verifier: verifier })

/** Logs a person in with a provider; returns the answer to the page. */
async function logInWith(person: Person, provider = 'basic') {
  const { back, page } = await comeBack(person, provider)
  return exchange(back.searchParams.get('code') ?? '', page.verifier)
}

describe('a login with a provider', () => {
  it.each(Object.keys(CLIENTS))(
    'creates the account of a new person, and logs in to it again: %s',
    async (provider) => {
      const person = aPerson()
      const { page, back, response } = await comeBack(person, provider)
      expect(response.headers).toMatchObject({
        'referrer-policy': 'no-referrer',
        'cache-control': 'no-store',
      })
      expect(back.origin + back.pathname).toBe(APP_PAGE)
      expect(back.searchParams.get('state')).toBe(page.state)
      const first = await exchange(back.searchParams.get('code') ?? '', page.verifier)
      expect(first.statusCode, first.body).toBe(200)
      const { token, data } = first.json()
      expect(decodeJwt(token)).toMatchObject({ sub: data.userid, amr: ['fed'] })
      const profile = await app.server.inject({ url: '/profile', headers: bearer(token) })
      expect(profile.json()).toMatchObject({ email: person.email, name: 'Ada' })
      const again = await logInWith({ ...person, email: 'another@example.com' }, provider)
      expect(again.json().data.userid).toBe(data.userid)
    },
  )
})

describe('the code of a login', () => {
  it('is for one exchange, by the verifier of its page, for sixty seconds', async () => {
    const person = aPerson()
    const { back, page } = await comeBack(person)
    const code = back.searchParams.get('code') ?? ''
    const wrong = await exchange(code, aPage().verifier)
    expect([wrong.statusCode, wrong.json().type]).toEqual([422, 'urn:latchkey:problem:exchange-refused'])
    expect((await exchange(code, page.verifier)).statusCode, 'it ended with the first attempt').toBe(422)

    const [second, third, fourth] = [await comeBack(person), await comeBack(person), await comeBack(person)]
    const codeOf = ({ back }: typeof second) => back.searchParams.get('code') ?? ''
    const both = await Promise.all([1, 2].map(() => exchange(codeOf(second), second.page.verifier)))
    expect(both.map(({ statusCode }) => statusCode).sort()).toEqual([200, 422])
    expect((await exchange(codeOf(third), second.page.verifier)).statusCode, 'of another login').toBe(422)
    app.setClock(Date.now() + 61_000)
    expect((await exchange(codeOf(fourth), fourth.page.verifier)).statusCode).toBe(422)
    app.setClock(undefined)
  })

  it('is stored as a hash, beside a sealed person', async () => {
    const person = aPerson()
    const { back } = await comeBack(person)
    const [id = '', token = ''] = (back.searchParams.get('code') ?? '').split('.')
    const rows = await app.database.db.query({ name: 'test-logins', text: 'select * from identity_login' })
    const text = JSON.stringify(rows)
    expect(text).toContain(id)
    expect(text).not.toContain(token)
    expect(text).not.toContain(person.email)
  })

  it.each(['x', 'a.b', `${crypto.randomUUID()}.x`, `${crypto.randomUUID()}.${'A'.repeat(43)}`])(
    'is refused where nobody has issued it: %s',
    async (code) => expect((await exchange(code, aPage().verifier)).statusCode).toBe(422),
  )

  it('is refused with the secret of another one', async () => {
    const [{ back, page }, other] = [await comeBack(aPerson()), await comeBack(aPerson())]
    const partsOf = (url: URL) => (url.searchParams.get('code') ?? '').split('.')
    const [id, token] = [partsOf(back)[0], partsOf(other.back)[1]]
    expect((await exchange(`${id}.${token}`, page.verifier)).statusCode).toBe(422)
    expect((await exchange(back.searchParams.get('code') ?? '', page.verifier)).statusCode).toBe(200)
  })

  it('is no ticket, and a ticket is no code', async () => {
    const { back, page } = await comeBack(aPerson())
    const ticket = back.searchParams.get('code') ?? ''
    expect((await post(app, '/login/exchange/complete', { ticket })).statusCode).toBe(422)
    const incomplete = await logInWith(aPerson({ email_verified: false }))
    expect((await exchange(incomplete.json().ticket, page.verifier)).statusCode).toBe(422)
  })
})

const problemOf = (response: { json: () => { type: string; reason?: string } }) => {
  const { type, reason } = response.json()
  return [type.replace('urn:latchkey:problem:', ''), reason].filter(Boolean).join(' ')
}
const complete = (given: object) => post(app, '/login/exchange/complete', given)
const identitiesOf = async (token: string) =>
  (await app.server.inject({ url: '/profile/identities', headers: bearer(token) })).json()
const profileOf = (token: string) => app.server.inject({ url: '/profile', headers: bearer(token) })

describe('an address that has an account', () => {
  it.each([
    { what: 'as it is', spell: (email: string) => email },
    { what: 'in another case', spell: (email: string) => email.toUpperCase() },
  ])('is not merged, and linked once its owner has logged in: $what', async ({ spell }) => {
    const user = await aUser(app)
    const person = aPerson({ email: spell(user.email) })
    const response = await logInWith(person)
    expect([response.statusCode, problemOf(response)]).toEqual([409, 'login-incomplete account_exists'])
    const { ticket, email, token: none } = response.json()
    expect([email, none]).toEqual([person.email, undefined])
    expect(problemOf(await complete({ ticket })), 'the ticket alone').toBe('login-incomplete account_exists')

    const token = await aToken(app, user)
    const added = await post(app, '/profile/identities', { ticket }, token)
    expect(added.statusCode, added.body).toBe(204)
    expect((await mailTo(app, user.email, 'identity-added')).variables.provider).toBe('Example & Co')
    expect((await logInWith(person)).json().data.userid).toBe(user.userid)
    expect((await logIn(app, user.email)).statusCode, 'the password is as before').toBe(200)
    expect((await post(app, '/profile/identities', { ticket }, token)).statusCode, 'the ticket again').toBe(
      422,
    )
  })

  it('can be taken over by a code to it: what its maker had gives nothing any more', async () => {
    const maker = await aUser(app)
    const token = await aToken(app, maker)
    const makers = await comeBack(aPerson({ email: 'maker@elsewhere.example' }), 'post')
    const shown = { code: makers.back.searchParams.get('code'), code_verifier: makers.page.verifier }
    expect((await post(app, '/profile/identities', shown, token)).statusCode).toBe(204)

    const person = aPerson({ email: maker.email })
    const { ticket } = (await logInWith(person)).json()
    expect((await post(app, '/login/exchange/code', { ticket, language: 'fr' })).statusCode).toBe(202)
    const mail = await mailTo(app, maker.email, 'identity-code')
    expect(mail).toMatchObject({ language: 'fr', variables: { provider: 'Example & Co', name: '' } })
    const taken = await complete({ ticket, code: mail.variables.code })
    expect(taken.statusCode, taken.body).toBe(200)
    expect(taken.json().data.userid).toBe(maker.userid)

    expect((await logIn(app, maker.email)).statusCode).toBe(401)
    expect((await profileOf(token)).statusCode).toBe(401)
    expect((await identitiesOf(taken.json().token)).identities).toMatchObject([
      { provider: 'basic', email: person.email },
    ])
    expect((await mailTo(app, maker.email, 'identity-added')).variables.alone).toBe('alone')
  })

  it('is not found by an address that only looks like it', async () => {
    const user = await aUser(app)
    const homograph = user.email.replace(/[aeo]/, (letter) => ({ a: 'а', e: 'е', o: 'о' })[letter] ?? letter)
    const response = await logInWith(aPerson({ email: homograph }))
    expect(response.statusCode, response.body).toBe(200)
    expect(response.json().data.userid).not.toBe(user.userid)
  })

  it('of a deleted user opens nothing, and neither does its identity', async () => {
    const person = aPerson()
    const { data, token } = (await logInWith(person)).json()
    await softDelete(app, { userid: data.userid } as TestUser)
    const known = await logInWith(person)
    expect([known.statusCode, problemOf(known)]).toEqual([403, 'identity-refused'])
    expect((await profileOf(token)).statusCode).toBe(401)
    const { ticket } = (await logInWith(aPerson({ email: person.email ?? '' }))).json()
    await post(app, '/login/exchange/code', { ticket })
    const code = await codeTo(app, person.email ?? '', 'identity-code')
    expect(problemOf(await complete({ ticket, code }))).toBe('identity-refused')
  })
})

it('refuses a banned user, and one whose address nobody has confirmed', async () => {
  const person = aPerson()
  const { data } = (await logInWith(person)).json()
  for (const [property, problem] of [
    [BAN_PROPERTY, 'account-banned'],
    [UNCONFIRMED_PROPERTY, 'email-unconfirmed'],
  ] as const) {
    await app.users.setProperty(data.userid, property, 'forever spam')
    const response = await logInWith(person)
    expect([response.statusCode, problemOf(response)]).toEqual([403, problem])
    await app.users.setProperty(data.userid, property, null)
  }
  expect((await logInWith(person)).statusCode).toBe(200)
})

it.each([true, 'cookie'] as const)('remembers the login where the page asks for it: %s', async (remember) => {
  const { back, page } = await comeBack(aPerson())
  const given = { code: back.searchParams.get('code'), code_verifier: page.verifier, remember }
  const response = await post(app, '/login/exchange', given)
  expect(response.json()).toMatchObject({ refresh_expires_at: expect.any(String) })
  expect([response.json().refresh_token !== undefined, response.headers['set-cookie'] !== undefined]).toEqual(
    remember === true ? [true, false] : [false, true],
  )
})

describe('an address that the provider does not vouch for', () => {
  it.each([
    { what: 'a new one', email: async () => undefined },
    { what: 'one that has an account', email: async () => (await aUser(app)).email },
  ])('needs a code, and says nothing about an account: $what', async ({ email }) => {
    const known = await email()
    const person = aPerson({ email_verified: false, ...(known && { email: known }) })
    const response = await logInWith(person)
    expect([response.statusCode, problemOf(response)]).toEqual([409, 'login-incomplete address_unconfirmed'])
    const { ticket } = response.json()
    expect(problemOf(await complete({ ticket }))).toBe('login-incomplete address_unconfirmed')
    await post(app, '/login/exchange/code', { ticket })
    const code = await codeTo(app, person.email ?? '', 'identity-code')
    const completed = await complete({ ticket, code })
    expect(completed.statusCode, completed.body).toBe(200)
    expect((await logInWith(person)).json().data.userid).toBe(completed.json().data.userid)
    expect((await complete({ ticket, code })).statusCode, 'again').toBe(422)
  })

  it('is given by the person where the provider says none', async () => {
    const { sub } = aPerson()
    const response = await logInWith({ sub })
    const { ticket, email } = response.json()
    expect([problemOf(response), email]).toEqual(['login-incomplete address_unconfirmed', undefined])
    const missing = await post(app, '/login/exchange/code', { ticket })
    expect([missing.statusCode, missing.json().errors]).toEqual([
      400,
      [{ path: 'email', message: 'is required' }],
    ])
    const given = `${sub.slice(0, 8)}@given.example`
    await post(app, '/login/exchange/code', { ticket, email: given })
    const completed = await complete({ ticket, code: await codeTo(app, given) })
    expect((await profileOf(completed.json().token)).json()).toMatchObject({ email: given })
  })

  it('counts wrong codes, at most five, also where another one was mailed', async () => {
    const person = aPerson({ email_verified: false })
    const { ticket } = (await logInWith(person)).json()
    await post(app, '/login/exchange/code', { ticket })
    const first = await codeTo(app, person.email ?? '')
    const wrong = first === '000000' ? '000001' : '000000'
    for (let guess = 0; guess < 4; guess++)
      expect((await complete({ ticket, code: wrong })).statusCode).toBe(422)
    await post(app, '/login/exchange/code', { ticket })
    expect((await complete({ ticket, code: wrong })).statusCode).toBe(422)
    await expect.poll(async () => codeTo(app, person.email ?? '')).not.toBe(first)
    const last = await codeTo(app, person.email ?? '')
    expect((await complete({ ticket, code: last })).statusCode, 'the sixth').toBe(422)
  })

  it('ends with its time', async () => {
    const person = aPerson({ email_verified: false })
    const { ticket } = (await logInWith(person)).json()
    app.setClock(Date.now() + 601_000)
    expect((await post(app, '/login/exchange/code', { ticket })).statusCode).toBe(422)
    app.setClock(undefined)
  })

  it.each(['no address', 'two@example.com, three@example.com', `${'a'.repeat(200)}@example.com`])(
    'is none where it cannot be one: %s',
    async (email) => {
      const response = await logInWith(aPerson({ email }))
      expect([problemOf(response), response.json().email]).toEqual([
        'login-incomplete address_unconfirmed',
        undefined,
      ])
    },
  )
})

describe('a new person', () => {
  it('gets one account from two logins at once', async () => {
    const person = aPerson()
    const both = [await comeBack(person), await comeBack(person, 'basic')]
    const answers = await Promise.all(
      both.map(({ back, page }) => exchange(back.searchParams.get('code') ?? '', page.verifier)),
    )
    const [first, second] = answers.map((answer) => answer.json().data?.userid)
    expect(first).toBeDefined()
    expect(second).toBe(first)
  })

  it('gets none where nobody may sign up, or not with this domain', async () => {
    for (const given of [{ SIGN_UP: 'off' }, { SIGN_UP: 'on', SIGN_UP_DOMAINS: 'elsewhere.example' }]) {
      await using closed = await startWith(given)
      issuer.person = aPerson()
      const { back, page } = await aBrowser(closed).logIn('basic')
      const response = await exchange(back.searchParams.get('code') ?? '', page.verifier, closed)
      expect([response.statusCode, problemOf(response)]).toEqual([403, 'identity-unknown'])
      expect(await closed.users.findByLogin('email', issuer.person.email ?? '')).toBeUndefined()
    }
  })

  it('chooses a username where users log in by one', async () => {
    await using own = await startWith({ LOGIN_FIELD: 'username' })
    issuer.person = aPerson()
    const { back, page } = await aBrowser(own).logIn('basic')
    const response = await exchange(back.searchParams.get('code') ?? '', page.verifier, own)
    expect(problemOf(response)).toBe('login-incomplete username_missing')
    const { ticket } = response.json()
    const taken = await aUser(own)
    const given = (username: string) => post(own, '/login/exchange/complete', { ticket, username })
    expect(problemOf(await given(taken.username))).toBe('username-taken')
    const username = `u${crypto.randomUUID().slice(0, 8)}`
    const { token } = (await given(username)).json()
    const profile = await own.server.inject({ url: '/profile', headers: bearer(token) })
    expect(profile.json()).toMatchObject({ username, email: issuer.person.email })
  })
})

describe('the second factor', () => {
  it('is asked for as after a password, and said by amr', async () => {
    await using own = await startWith(factorSettings())
    issuer.person = aPerson()
    const begin = async () => {
      const { back, page } = await aBrowser(own).logIn('basic')
      return exchange(back.searchParams.get('code') ?? '', page.verifier, own)
    }
    const { token } = (await begin()).json()
    const now = Math.ceil(Date.now() / 30_000) * 30_000
    own.setClock(now)
    const { secret } = await enrol(own, token, now)
    const asked = await begin()
    expect([asked.statusCode, problemOf(asked)]).toEqual([403, 'second-factor-required'])
    own.setClock(now + 30_000)
    const answered = await post(own, '/login/secondfactor', {
      challenge: asked.json().challenge,
      code: codeAt(secret, now + 30_000),
    })
    expect(answered.statusCode, answered.body).toBe(200)
    expect(decodeJwt(answered.json().token).amr).toEqual(['fed', 'otp', 'mfa'])
  })

  it.each([
    { what: 'amr', methods: { amr: ['pwd', 'mfa'] }, suffices: true },
    { what: 'acr', methods: { acr: 'urn:strong' }, suffices: true },
    { what: 'another amr', methods: { amr: ['pwd'] }, suffices: false },
  ])('of the provider suffices where the setting names it: $what', async ({ methods, suffices }) => {
    await using own = await startWith({
      ...factorSettings(),
      SECOND_FACTOR_ROLES: 'user',
      OIDC_BASIC_SECOND_FACTOR: 'mfa,urn:strong',
    })
    issuer.person = aPerson()
    issuer.methods = methods
    const { back, page } = await aBrowser(own).logIn('basic')
    const { token } = (await exchange(back.searchParams.get('code') ?? '', page.verifier, own)).json()
    issuer.methods = {}
    expect(decodeJwt(token).amr).toEqual(suffices ? ['fed', 'mfa'] : ['fed'])
    const profile = await own.server.inject({ url: '/profile', headers: bearer(token) })
    expect(profile.statusCode).toBe(suffices ? 200 : 401)
  })
})

describe('the identities of a user', () => {
  it('are listed, added and removed, and tell the owner', async () => {
    const user = await aUser(app)
    const [token, other] = [await aToken(app, user), await aToken(app, user)]
    const person = aPerson()
    const { back, page } = await comeBack(person)
    const shown = { code: back.searchParams.get('code'), code_verifier: page.verifier }
    expect((await post(app, '/profile/identities', shown, token)).statusCode).toBe(204)
    const { identities, has_password } = await identitiesOf(token)
    expect([identities, has_password]).toEqual([
      [
        {
          id: expect.any(String),
          provider: 'basic',
          label: 'Example & Co',
          email: person.email,
          created_at: expect.any(String),
          last_used_at: null,
        },
      ],
      true,
    ])
    const remove = (id: string, by = token) =>
      app.server.inject({ method: 'DELETE', url: `/profile/identities/${id}`, headers: bearer(by) })
    const stranger = await aToken(app, await aUser(app))
    expect(problemOf(await remove(identities[0].id, stranger))).toBe('identity-not-found')
    expect((await remove(identities[0].id)).statusCode).toBe(204)
    expect((await mailTo(app, user.email, 'identity-removed')).variables.provider).toBe('Example & Co')
    expect((await profileOf(other)).statusCode, 'another session').toBe(401)
    expect((await profileOf(token)).statusCode).toBe(200)
    expect((await logInWith(person)).json().data.userid).not.toBe(user.userid)
  })

  it('belong to one user each', async () => {
    const person = aPerson()
    await logInWith(person)
    const token = await aToken(app, await aUser(app))
    const { back, page } = await comeBack(person)
    const shown = { code: back.searchParams.get('code'), code_verifier: page.verifier }
    const response = await post(app, '/profile/identities', shown, token)
    expect([response.statusCode, problemOf(response)]).toEqual([409, 'identity-taken'])
  })

  it('need a login of the last five minutes', async () => {
    const token = await aToken(app, await aUser(app))
    app.setClock(Date.now() + 301_000)
    const { back, page } = await comeBack(aPerson())
    const shown = { code: back.searchParams.get('code'), code_verifier: page.verifier }
    expect(problemOf(await post(app, '/profile/identities', shown, token))).toBe(
      'insufficient-user-authentication',
    )
    app.setClock(undefined)
  })

  it.each([
    {},
    { code: 'x' },
    { code_verifier: 'v'.repeat(43) },
    { ticket: 'x', code: 'x', code_verifier: 'v'.repeat(43) },
  ])('are added by a code and its verifier, or by a ticket: %o', async (body) => {
    const token = await aToken(app, await aUser(app))
    expect((await post(app, '/profile/identities', body, token)).statusCode).toBe(400)
  })
})

describe('an account without a password', () => {
  it('loses its last identity only after it has a password, and comes back by a reset', async () => {
    const person = aPerson()
    const email = person.email ?? ''
    const { token } = (await logInWith(person)).json()
    const { identities, has_password } = await identitiesOf(token)
    expect(has_password).toBe(false)
    const remove = (by: string) =>
      app.server.inject({
        method: 'DELETE',
        url: `/profile/identities/${identities[0].id}`,
        headers: bearer(by),
      })
    const refused = await remove(token)
    expect([refused.statusCode, problemOf(refused)]).toEqual([409, 'last-way-in'])

    // What every wrong password says.
    const [none, wrong] = [await logIn(app, email), await logIn(app, (await aUser(app)).email, 'wrong')]
    expect([none.statusCode, { ...none.json(), instance: '' }]).toEqual([
      401,
      { ...wrong.json(), instance: '' },
    ])

    const { token: reset } = (await post(app, '/login/resetrequest', { email })).json()
    const code = await codeTo(app, email, 'password-reset')
    const confirmed = (await post(app, '/login/confirmcode', { email, code, token: reset })).json()
    const password = 'N3w-p4ssw0rd!'
    const set = await post(app, '/login/resetpassword', { email, token: confirmed.token, password })
    expect(set.statusCode, set.body).toBe(200)
    const login = await logIn(app, email, password)
    expect(login.statusCode).toBe(200)
    expect((await remove(login.json().token)).statusCode).toBe(204)
  })

  it('sets a password by a login of the last five minutes', async () => {
    const person = aPerson()
    const { token } = (await logInWith(person)).json()
    const password = 'N3w-p4ssw0rd!'
    const put = (payload: object) =>
      app.server.inject({ method: 'PUT', url: '/profile/password', payload, headers: bearer(token) })
    expect((await put({ password })).statusCode).toBe(200)
    expect((await logIn(app, person.email ?? '', password)).statusCode).toBe(200)
    expect((await logInWith(person)).statusCode, 'and by the provider').toBe(200)
  })
})

it('lists the providers, with labels as they are', async () => {
  const { providers } = (await app.server.inject('/login/with')).json()
  expect(providers).toEqual([
    { name: 'basic', label: 'Example & Co' },
    { name: 'post', label: 'post' },
    { name: 'public', label: 'public' },
  ])
})
