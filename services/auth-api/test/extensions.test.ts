import { entry, someExtensions } from '@latchkey/shared/extensions/test/extension-folders.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { describe, expect, it } from 'vitest'
import { answer, challengeOf, codeAt, type Enrolled, enrol, factorSettings } from './support/factors.ts'
import { aToken, bearer, queuedMails, startApp, type TestApp } from './support/start-app.ts'

const ENTRY = `export default { routes: () => import('./routes.ts') }`

/** An extension with these routes. */
const withRoutes = (name: string, routes: string) => ({
  [`${name}/extension.ts`]: ENTRY,
  [`${name}/routes.ts`]: `export const routes = async (app, context) => { ${routes} }`,
})

const startWith = (folder: { path: string }, ...extensions: string[]) =>
  startApp({ extensions, extensionsDir: folder.path })

async function tokenByCode(app: TestApp, user: TestUser, { secret }: Enrolled, now: number): Promise<string> {
  return (await answer(app, await challengeOf(app, user), codeAt(secret, now))).json().token
}

describe('the routes of an extension', () => {
  it('are guarded by the same marker, and are in the OpenAPI document', async () => {
    await using folder = await someExtensions(
      withRoutes(
        'notes',
        `app.get('/notes', { auth: 'authenticated' }, async ({ jwt }) => ({
           name: jwt.data.name,
           email: (await context.users.findById(jwt.sub)).email,
         }))
         app.get('/notes/open', { auth: 'public' }, async () => ({ now: context.clock() }))`,
      ),
    )
    await using app = await startWith(folder, 'notes')
    const user = await aUser(app)
    app.setClock(undefined)
    expect((await app.server.inject('/notes')).statusCode).toBe(401)
    const answer = await app.server.inject({ url: '/notes', headers: bearer(await aToken(app, user)) })
    expect(answer.json()).toEqual({ name: 'Ada', email: user.email })
    app.setClock(12)
    expect((await app.server.inject('/notes/open')).json()).toEqual({ now: 12 })
    expect(app.logLines.join('')).toMatch(
      /"routes":\["GET \/notes\/open".*public routes of the extension notes/,
    )
    const { paths } = (await app.server.inject('/openapi.json')).json()
    expect(paths['/notes'].get.security).toEqual([{ bearer: [] }])
    expect(paths['/notes/open'].get.security).toEqual([])
  })

  it('may require a second factor and a recent login, where users can have one', async () => {
    await using folder = await someExtensions(
      withRoutes(
        'notes',
        `app.get('/notes', { auth: { role: 'user', secondFactor: true } }, async () => ({}))
         app.get('/notes/new', { auth: { maxAgeSeconds: 300 } }, async () => ({}))`,
      ),
    )
    await expect(startWith(folder, 'notes')).rejects.toThrow('set SECOND_FACTOR=on')
    const settings = factorSettings()
    await using app = await startApp({ extensions: ['notes'], extensionsDir: folder.path, settings })
    const user = await aUser(app)
    const token = await aToken(app, user)
    const get = (url: string, by: string) => app.server.inject({ url, headers: bearer(by) })
    expect((await get('/notes', token)).headers['www-authenticate']).toMatch(
      /error="insufficient_user_authentication".* acr_values="urn:latchkey:acr:second-factor"$/,
    )
    const now = Date.now()
    const raised = await enrol(app, token, now)
    for (const url of ['/notes', '/notes/new']) expect((await get(url, raised.token)).statusCode).toBe(200)
    app.setClock(now + 310_000)
    expect((await get('/notes', raised.token)).statusCode).toBe(200)
    expect((await get('/notes/new', raised.token)).headers['www-authenticate']).toMatch(/, max_age="300"$/)
    expect((await get('/notes/new', await tokenByCode(app, user, raised, now + 310_000))).statusCode).toBe(
      200,
    )
    const { paths } = (await app.server.inject('/openapi.json')).json()
    const { description } = paths['/notes/new'].get.responses[401]
    expect(description).toContain('insufficient-user-authentication')
  })

  it("cannot exempt a user whose role needs a second factor, as Latchkey's own routes to add one do", async () => {
    const route = `app.get('/notes', { auth: { secondFactor: 'enrolling' } }, async () => ({}))`
    await using folder = await someExtensions(withRoutes('notes', route))
    await expect(startWith(folder, 'notes')).rejects.toThrow('is not for enrolling a second factor')
  })

  it('may require roles that the extension declares, and any of several', async () => {
    await using folder = await someExtensions({
      ...withRoutes('notes', `app.get('/notes', { auth: { role: ['editor', 'admin'] } }, async () => ({}))`),
      'notes/extension.ts': `export default { roles: ['editor'], routes: () => import('./routes.ts') }`,
    })
    await using app = await startWith(folder, 'notes')
    const answerFor = async (role: string) => {
      const token = await aToken(app, await aUser(app, { role }))
      return app.server.inject({ url: '/notes', headers: bearer(token) })
    }
    for (const role of ['editor', 'admin']) expect((await answerFor(role)).statusCode, role).toBe(200)
    for (const role of ['user', 'editor,admin', 'Editor']) {
      const refused = await answerFor(role)
      expect(refused.statusCode, role).toBe(403)
      expect(refused.json().detail).toBe('The role editor or admin is required')
    }
  })

  it('change no other route, even with a hook that asks for it', async () => {
    await using folder = await someExtensions(
      withRoutes(
        'notes',
        `const plugin = async (app) => app.addHook('onRequest', async (request, reply) => void reply.header('x-notes', 'yes'))
         plugin[Symbol.for('skip-override')] = true
         await app.register(plugin)
         app.get('/notes', { auth: 'public' }, async () => ({}))`,
      ),
    )
    await using app = await startWith(folder, 'notes')
    expect((await app.server.inject('/notes')).headers['x-notes']).toBe('yes')
    expect((await app.server.inject('/health/live')).headers['x-notes']).toBeUndefined()
  })

  it.each([
    {
      routes: `app.register(async (app) => { app.put('/', async () => 1) }, { prefix: '/profile' })`,
      fault: 'PUT /profile matches',
    },
    {
      routes: `app.all('/docs/:file', async () => 1)`,
      fault: '/docs/:file matches URLs of GET /docs/json',
    },
  ])('cannot take a path of Latchkey: $routes', async ({ routes, fault }) => {
    await using folder = await someExtensions(withRoutes('notes', routes))
    await expect(startWith(folder, 'notes')).rejects.toThrow(
      new RegExp(`^The extension notes cannot be used: [^\n]*${fault.replaceAll('*', '\\*')}[^\n]*$`),
    )
  })

  it('cannot take a path of another extension', async () => {
    await using folder = await someExtensions({
      ...withRoutes('notes', `app.get('/notes/:id', { auth: 'public' }, async () => 1)`),
      ...withRoutes('other', `app.post('/notes/archive', { auth: 'public' }, async () => 1)`),
    })
    await expect(startWith(folder, 'notes', 'other')).rejects.toThrow(
      'The extension other cannot be used: POST /notes/archive matches URLs of GET /notes/:id, a route of the extension notes; choose another path (routes.ts:1)',
    )
  })

  const withProblem = (problem: object) => ({
    'notes/extension.ts': ENTRY,
    'notes/routes.ts': `import { ProblemError } from '@latchkey/shared/extensions/problem-type.ts'
      const FULL = ${JSON.stringify(problem)}
      export const routes = async (app) => {
        app.get('/notes', { auth: 'public', problems: [FULL] }, async () => { throw new ProblemError(FULL, 'Delete one first') })
      }`,
  })
  const FULL = { name: 'notes-full', status: 409, title: 'No room for another note' }

  it('refuse with their own problem types, which the OpenAPI document shows', async () => {
    await using folder = await someExtensions(withProblem(FULL))
    await using app = await startWith(folder, 'notes')
    const refused = await app.server.inject('/notes')
    expect(refused.statusCode).toBe(409)
    expect(refused.headers['content-type']).toMatch(/^application\/problem\+json/)
    const { name, ...shown } = FULL
    const problem = { type: 'urn:latchkey:problem:notes-full', ...shown }
    expect(refused.json()).toMatchObject({ ...problem, detail: 'Delete one first' })
    const { paths, components } = (await app.server.inject('/openapi.json')).json()
    expect(paths['/notes'].get.responses['409']).toEqual({ $ref: '#/components/responses/NotesFull' })
    expect(JSON.stringify(components.responses.NotesFull)).toContain(problem.type)
  })

  it.each([
    { ...FULL, name: 'invalid-token', fault: /the problem "invalid-token" must be named notes-…/ },
    { ...FULL, name: 'notes-', fault: /the problem "notes-" must be named notes-…/ },
    { ...FULL, name: 'notes-Full', fault: /the problem "notes-Full" must be named notes-…/ },
    { ...FULL, status: 503, fault: /the problem notes-full has the status 503; it must be from 400 to 499/ },
    { ...FULL, title: '', fault: /the problem notes-full has no title/ },
  ])('cannot have the problem type $name with $status', async ({ fault, ...problem }) => {
    await using folder = await someExtensions(withProblem(problem))
    await expect(startWith(folder, 'notes')).rejects.toThrow(fault)
  })

  it.each([
    { routes: `app.get('/x', { auth: 'admin' }, async () => 1)`, fault: /The route \/x has an auth option/ },
    {
      routes: `app.get('/x', { auth: { role: ['admin', 'edtor'] } }, async () => 1)`,
      fault: /The route \/x requires the role edtor, which is not declared/,
    },
    {
      routes: `app.get('/x', { authh: 'authenticated' }, async () => 1)`,
      fault: /The route \/x does not say who may call it: add auth: 'authenticated'/,
    },
    {
      routes: `app.get('/x', async () => 1)`,
      fault: /The route \/x does not say who may call it: add auth: 'authenticated'/,
    },
    { routes: `throw new Error('boom\\nbang')`, fault: /: boom bang \(routes\.ts:1\)$/ },
    { routes: `app.register(async () => { throw new Error('deep') })`, fault: /: deep \(routes\.ts:1\)$/ },
  ])('stop the start when they fail: $routes', async ({ routes, fault }) => {
    await using folder = await someExtensions(withRoutes('notes', routes))
    await expect(startWith(folder, 'notes')).rejects.toThrow(fault)
  })
})

describe('the settings and mails of an extension', () => {
  const FILES = {
    'notes/extension.ts': entry(`{
      settings: { NOTES_PER_USER: wholeNumber({ description: 'Notes.', minimum: 1, default: 100 }) },
      mails: { 'notes-added': z.strictObject({ text: z.string() }) },
      routes: () => import('./routes.ts'),
    }`),
    'notes/routes.ts': `export const routes = async (app, { db, mails, settings, clock }) => {
      app.get('/notes', { auth: 'public' }, async () => settings)
      app.post('/notes', { auth: 'public' }, async ({ body }) =>
        db.transaction((transaction) =>
          mails.accept(transaction, {
            template: body.template,
            to: 'ada@example.com',
            language: 'fr',
            variables: { text: body.text },
            expiresAt: new Date(clock() + 60_000),
          }),
        ),
      )
    }`,
    ...Object.fromEntries(
      ['subject', 'html', 'text'].map((part) => [`notes/emails/en/notes-added.${part}`, '{{text}}']),
    ),
  }

  it('reach its routes', async () => {
    await using folder = await someExtensions(FILES)
    await using app = await startApp({
      extensions: ['notes'],
      extensionsDir: folder.path,
      settings: { NOTES_PER_USER: '7' },
    })
    expect((await app.server.inject('/notes')).json()).toEqual({ NOTES_PER_USER: 7 })

    const post = (payload: object) => app.server.inject({ method: 'POST', url: '/notes', payload })
    expect((await post({ template: 'notes-added', text: 'Milk' })).statusCode).toBe(200)
    await expect.poll(() => queuedMails(app)).toHaveLength(1)
    const [mail] = await queuedMails(app)
    expect(mail).toMatchObject({ template: 'notes-added', language: 'fr', variables: { text: 'Milk' } })
    // Not even by a mistake does it send a mail of Latchkey.
    expect((await post({ template: 'password-reset', text: 'x' })).statusCode).toBe(500)
  })

  it('are refused with all other faults', async () => {
    await using folder = await someExtensions(FILES)
    const starting = startApp({
      extensions: ['notes'],
      extensionsDir: folder.path,
      settings: { NOTES_PER_USER: 'many' },
    })
    await expect(starting).rejects.toThrow(
      'NOTES_PER_USER must be a whole number, at least 1. For example: NOTES_PER_USER=100',
    )
  })
})
