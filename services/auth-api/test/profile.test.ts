import { VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, softDelete, startApp, type TestApp } from './support/start-app.ts'

let app: TestApp
let user: TestUser
let token: string
beforeAll(async () => {
  app = await startApp()
  user = await aUser(app)
  token = await aToken(app, user)
})
afterAll(() => app[Symbol.asyncDispose]())

const read = (as = token) => app.server.inject({ url: '/profile', headers: bearer(as) })
const update = (payload: unknown, as = token) =>
  app.server.inject({ method: 'PUT', url: '/profile', headers: bearer(as), payload: payload as object })

describe('PROFILE_PROPERTIES', () => {
  it.each([
    { setting: undefined, shown: { picture: 'p.png' } },
    { setting: 'device, picture', shown: { picture: 'p.png', device: ['one', 'two'] } },
    {
      setting: '*',
      shown: { picture: 'p.png', device: ['one', 'two'], mfa_secret: 'JBSWY3DP', empty: null },
    },
    { setting: 'Picture,mfa', shown: {} },
  ])('$setting shows $shown', async ({ setting, shown }) => {
    const settings = setting === undefined ? {} : { PROFILE_PROPERTIES: setting }
    await using other = await startApp({ database: app.database, settings })
    const user = await aUser(app)
    const { db } = app.database
    const insert = {
      name: 'test-property',
      text: 'insert into users_property (userid, name, value) values ($1, $2, $3)',
    }
    const properties: [string, string | null][] = [
      ['picture', 'p.png'],
      ['device', 'one'],
      ['device', 'two'],
      ['mfa_secret', 'JBSWY3DP'],
      ['empty', null],
      ['latchkey.note', 'internal'],
    ]
    for (const property of properties) await db.execute(insert, [db.toUuidValue(user.userid), ...property])
    const headers = bearer(await aToken(other, user))
    const read = await other.server.inject({ url: '/profile', headers })
    expect(read.json().properties).toEqual(shown)
    const changed = await other.server.inject({ method: 'PUT', url: '/profile', headers, payload: {} })
    expect(changed.json().properties).toEqual(shown)
  })
})

describe('GET /profile', () => {
  it('shows the user, with its picture and without what is internal', async () => {
    const shown = await aUser(app, { name: 'Zoë 🗝', role: '' })
    await app.users.setProperty(shown.userid, 'picture', 'https://example.com/p.png')
    await app.users.setProperty(shown.userid, 'latchkey.valid_from', '1')
    const response = await app.server.inject({ url: '/profile', headers: bearer(await aToken(app, shown)) })
    expect(response.statusCode).toBe(200)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.json()).toEqual({
      userid: shown.userid,
      name: 'Zoë 🗝',
      email: shown.email,
      username: shown.username,
      role: 'user',
      language: 'en',
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updated_at: null,
      properties: { picture: 'https://example.com/p.png' },
      metadata: {},
    })
    expect(Math.abs(Date.parse(response.json().created_at) - Date.now()), 'in UTC').toBeLessThan(120_000)
  })
})

describe('PUT /profile', () => {
  it('changes what is given and leaves the rest', async () => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    const changed = await update({ name: 'Grace', language: 'fr' }, token)
    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toMatchObject({
      name: 'Grace',
      language: 'fr',
      email: user.email,
      role: 'user',
      username: user.username,
    })
    expect(changed.json().updated_at).not.toBeNull()
    expect((await read(token)).json()).toEqual(changed.json())
    expect((await update({}, token)).json()).toEqual(changed.json())
  })

  it.each([{ name: '🗝'.repeat(50) }, { email: `${'é'.repeat(108)}@example.com` }])(
    'stores as many characters as the limit says, of any width: %o',
    async (body) => {
      const own = await aToken(app, await aUser(app))
      const response = await update({ language: 'pt', ...body }, own)
      expect(response.statusCode).toBe(200)
      expect(response.json()).toMatchObject(body)
    },
  )

  it('refuses an e-mail that another user has, in any case, and accepts one that differs by an accent', async () => {
    const own = await aToken(app, await aUser(app))
    await aUser(app, { email: 'rené@example.com' })
    const refused = await update({ email: 'RENÉ@example.com', name: 'Never' }, own)
    expect(refused.statusCode).toBe(409)
    expect(refused.json().type).toBe('urn:latchkey:problem:email-taken')
    expect(refused.json().detail).toBe('This e-mail address is already in use')
    expect(refused.body).not.toMatch(/ix_|duplicate|constraint/i)
    expect((await read(own)).json().name, 'all or nothing').not.toBe('Never')
    expect((await update({ email: 'rene@example.com' }, own)).statusCode).toBe(200)
    expect((await update({ email: 'RENE@example.com' }, own)).statusCode, 'their own in another case').toBe(
      200,
    )
  })

  it.each([
    { body: { name: '🗝'.repeat(51) }, path: 'name', message: 'must be at most 50 characters' },
    { body: { name: 'a\u0000b' }, path: 'name', message: 'must not contain control characters' },
    { body: { name: 7 }, path: 'name', message: 'must be a string' },
    { body: { current_password: 7 }, path: 'current_password', message: 'must be a string' },
    { body: { name: null }, path: 'name', message: 'must be a string' },
    { body: { language: 'de' }, path: 'language', message: 'must be one of en, fr, pt' },
    { body: { language: 'EN' }, path: 'language', message: 'must be one of en, fr, pt' },
    { body: { email: 'no address' }, path: 'email', message: 'must be one e-mail address' },
    {
      body: { email: 'a@example.com, b@example.com' },
      path: 'email',
      message: 'must be one e-mail address',
    },
    {
      body: { email: 'a@example.com\r\nBcc: b@example.com' },
      path: 'email',
      message: 'must not contain control characters',
    },
    { body: { email: '<a@example.com>' }, path: 'email', message: 'must be one e-mail address' },
    {
      body: { email: `${'a'.repeat(109)}@example.com` },
      path: 'email',
      message: 'must be at most 120 characters',
    },
  ])('answers 400 to $body and writes nothing', async ({ body, path, message }) => {
    const own = await aToken(app, await aUser(app))
    const before = (await app.server.inject({ url: '/profile', headers: bearer(own) })).json()
    const response = await update({ language: 'pt', ...body }, own)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors[0]).toEqual({ path, message })
    const after = (await app.server.inject({ url: '/profile', headers: bearer(own) })).json()
    expect(after).toEqual(before)
  })

  it.each([
    {
      end: 'was revoked',
      endTokens: ({ userid }: TestUser) =>
        app.users.setProperty(userid, VALID_FROM_PROPERTY, String(Math.floor(Date.now() / 1000) + 2)),
    },
    { end: 'is of a deleted user', endTokens: (user: TestUser) => softDelete(app, user) },
    {
      end: 'was logged out on another replica',
      endTokens: async (_user: TestUser, token: string) => {
        await using other = await startApp({
          database: app.database,
          settings: { JWT_SECRET: Buffer.from(app.config.tokens.secret).toString('base64') },
        })
        await other.server.inject({ method: 'POST', url: '/logout', headers: bearer(token) })
      },
    },
  ])('changes nothing by a remembered token that $end', async ({ endTokens }) => {
    const user = await aUser(app)
    const token = await aToken(app, user)
    expect((await update({ name: 'Ada' }, token)).statusCode).toBe(200)
    await endTokens(user, token)
    for (const change of [{ name: 'Eve' }, { name: 'Eve', email: `moved-${user.email}`, language: 'pt' }])
      expect((await update(change, token)).statusCode).toBe(401)
    expect(await app.users.findById(user.userid)).toMatchObject({ name: 'Ada', email: user.email })
  })

  it('shows nothing to a remembered token of a deleted user', async () => {
    const user = await aUser(app)
    const headers = bearer(await aToken(app, user))
    const read = () => app.server.inject({ url: '/profile', headers })
    expect((await read()).statusCode).toBe(200)
    await softDelete(app, user)
    expect((await read()).json()).toMatchObject({
      status: 401,
      detail: 'The user of this token no longer exists; log in as another user',
    })
  })

  it('shows the new name in the next token', async () => {
    const own = await aUser(app)
    await update({ name: 'Katherine' }, await aToken(app, own))
    const response = await app.server.inject({
      method: 'POST',
      url: '/login',
      payload: { username: own.email, password: 'c0rrect-Horse!' },
    })
    expect(response.json().data.name).toBe('Katherine')
  })
})
