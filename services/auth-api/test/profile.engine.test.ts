import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceUrl } from '../../test/support/test-database.ts'
import { aToken, aUser, bearer, startApp, type TestApp, type TestUser } from './support/start-app.ts'

let app: TestApp
let user: TestUser
let token: string
beforeAll(async () => {
  app = await startApp()
  user = await aUser(app)
  token = await aToken(app, user)
})
afterAll(() => app[Symbol.asyncDispose]())

const read = () => app.server.inject({ url: '/profile', headers: bearer(token) })
const update = (payload: unknown, as = token) =>
  app.server.inject({ method: 'PUT', url: '/profile', headers: bearer(as), payload: payload as object })

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
    })
    expect(Math.abs(Date.parse(response.json().created_at) - Date.now()), 'in UTC').toBeLessThan(120_000)
  })
})

describe('PUT /profile', () => {
  it('changes what is given and leaves the rest', async () => {
    const changed = await update({
      name: 'Grace',
      language: 'fr',
      role: 'admin',
      username: 'root',
      unknown: 1,
    })
    expect(changed.statusCode).toBe(200)
    expect(changed.json()).toMatchObject({
      name: 'Grace',
      language: 'fr',
      email: user.email,
      role: 'user',
      username: user.username,
    })
    expect(changed.json().updated_at).not.toBeNull()
    expect((await read()).json()).toEqual(changed.json())
    expect((await update({})).json()).toEqual(changed.json())
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
    await aUser(app, { email: 'rené@example.com' })
    const refused = await update({ email: 'RENÉ@example.com', name: 'Never' })
    expect(refused.statusCode).toBe(409)
    expect(refused.json().type).toBe('urn:latchkey:problem:email-taken')
    expect(refused.json().detail).toBe('This e-mail address is already in use')
    expect(refused.body).not.toMatch(/ix_|duplicate|constraint/i)
    expect((await read()).json().name, 'all or nothing').not.toBe('Never')
    expect((await update({ email: 'rene@example.com' })).statusCode).toBe(200)
    expect((await update({ email: 'RENE@example.com' })).statusCode, 'their own in another case').toBe(200)
  })

  it('answers 200 to one of ten concurrent requests for an e-mail address, and 409 to nine', async () => {
    const tokens = await Promise.all(Array.from({ length: 10 }, async () => aToken(app, await aUser(app))))
    const answers = await Promise.all(tokens.map((each) => update({ email: 'wanted@example.com' }, each)))
    const statuses = answers.map(({ statusCode }) => statusCode).sort()
    expect(statuses).toEqual([200, ...Array(9).fill(409)])
  })

  it('answers 200 to nearly all of forty concurrent changes of one account at two replicas', async () => {
    const db = await openDatabase(serviceUrl(app.database, 'auth-api'), { poolSize: 12 })
    const settings = { JWT_SECRET: Buffer.from(app.config.tokens.secret).toString('base64') }
    await using other = await startApp({ settings, database: { ...app.database, db } })
    const requests = Array.from({ length: 40 }, (_, at) => {
      const { server } = at % 2 === 0 ? app : other
      const payload = { name: `Ada ${at}`, language: at % 3 === 0 ? 'en' : 'pt' }
      return server.inject({ method: 'PUT', url: '/profile', headers: bearer(token), payload })
    })
    const statuses = (await Promise.all(requests)).map(({ statusCode }) => statusCode)
    await db.close()
    expect(statuses.filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(36)
  })

  it('leaves one row after five concurrent language updates', async () => {
    const languages = ['en', 'fr', 'pt', 'en', 'fr']
    const answers = await Promise.all(languages.map((language) => update({ language })))
    expect(answers.map(({ statusCode }) => statusCode)).toEqual(Array(5).fill(200))
    const stored = await app.users.findById(user.userid)
    expect(stored?.properties.filter(({ name }) => name === LANGUAGE_PROPERTY)).toHaveLength(1)
  })
})
