import { mkdir, mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { findExtensions, getExtension } from '@latchkey/shared/extensions/find-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import { describe, expect, it } from 'vitest'
import { aToken, aUser, bearer, startApp } from './support/start-app.ts'

const ENTRY = `export default { routes: () => import('./routes.ts') }`

/** A folder of extensions: for each path the text of its file. */
async function someExtensions(files: Readonly<Record<string, string>>) {
  const folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-extensions-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder.path, path)), { recursive: true })
    await writeFile(join(folder.path, path), text)
  }
  return folder
}

/** An extension with these routes. */
const withRoutes = (name: string, routes: string) => ({
  [`${name}/extension.ts`]: ENTRY,
  [`${name}/routes.ts`]: `export const routes = async (app, context) => { ${routes} }`,
})

const startWith = (folder: { path: string }, ...extensions: string[]) =>
  startApp({ extensions, extensionsDir: folder.path })

describe('the routes of an extension', () => {
  it('are guarded by the same marker, and are in the OpenAPI document', async () => {
    await using folder = await someExtensions(
      withRoutes(
        'notes',
        `app.get('/notes', { auth: 'authenticated' }, async ({ jwt }) => ({
           name: jwt.data.name,
           email: (await context.users.findById(jwt.sub)).email,
         }))
         app.get('/notes/open', async () => ({ now: context.clock() }))`,
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
    const { paths } = (await app.server.inject('/openapi.json')).json()
    expect(paths).toMatchObject({ '/notes': { get: { security: [{ bearer: [] }] } }, '/notes/open': {} })
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
         app.get('/notes', async () => ({}))`,
      ),
    )
    await using app = await startWith(folder, 'notes')
    expect((await app.server.inject('/notes')).headers['x-notes']).toBe('yes')
    expect((await app.server.inject('/health/live')).headers['x-notes']).toBeUndefined()
  })

  it.each([
    {
      routes: `app.get('/profile', async () => 1)`,
      fault: 'GET /profile matches URLs of GET /profile, a route of Latchkey; choose another path',
    },
    { routes: `app.get('/login', async () => 1)`, fault: 'GET /login matches URLs of POST /login' },
    { routes: `app.get('/:page', async () => 1)`, fault: 'GET /:page matches URLs of' },
    {
      routes: `app.register(async (app) => { app.put('/', async () => 1) }, { prefix: '/profile' })`,
      fault: 'PUT /profile matches',
    },
    {
      routes: `app.all('/docs/static/extra', async () => 1)`,
      fault: '/docs/static/extra matches URLs of HEAD /docs/static/*',
    },
  ])('cannot take a path of Latchkey: $routes', async ({ routes, fault }) => {
    await using folder = await someExtensions(withRoutes('notes', routes))
    await expect(startWith(folder, 'notes')).rejects.toThrow(
      new RegExp(`^The extension notes cannot be used: [^\n]*${fault.replaceAll('*', '\\*')}[^\n]*$`),
    )
  })

  it('cannot take a path of another extension', async () => {
    await using folder = await someExtensions({
      ...withRoutes('notes', `app.get('/notes/:id', async () => 1)`),
      ...withRoutes('other', `app.post('/notes/archive', async () => 1)`),
    })
    await expect(startWith(folder, 'notes', 'other')).rejects.toThrow(
      'The extension other cannot be used: POST /notes/archive matches URLs of GET /notes/:id, a route of the extension notes; choose another path (routes.ts:1)',
    )
  })

  it.each([
    { routes: `app.get('/x', { auth: 'admin' }, async () => 1)`, fault: /The route \/x has an auth marker/ },
    {
      routes: `app.get('/x', { auth: { role: [] } }, async () => 1)`,
      fault: /The route \/x has an auth marker/,
    },
    {
      routes: `app.get('/x', { auth: { role: ['admin', 'edtor'] } }, async () => 1)`,
      fault: /The route \/x requires the role edtor, which is not declared/,
    },
    { routes: `throw new Error('boom\\nbang')`, fault: /: boom bang \(routes\.ts:1\)$/ },
    { routes: `app.register(async () => { throw new Error('deep') })`, fault: /: deep \(routes\.ts:1\)$/ },
  ])('stop the start when they fail: $routes', async ({ routes, fault }) => {
    await using folder = await someExtensions(withRoutes('notes', routes))
    await expect(startWith(folder, 'notes')).rejects.toThrow(fault)
  })
})

describe('an extension that cannot be loaded', () => {
  it.each([
    {
      why: 'no entry',
      files: { 'notes/routes.ts': '' },
      fault: 'notes cannot be used: extensions/notes/extension.ts does not exist',
    },
    {
      why: 'a name that cannot be one',
      files: { 'My_Notes/extension.ts': ENTRY },
      fault: /^The extension My_Notes cannot be used: rename its folder/,
    },
    {
      why: 'no default export',
      files: { 'notes/extension.ts': 'export const notes = {}' },
      fault: /must export defineExtension/,
    },
    {
      why: 'an unknown part',
      files: { 'notes/extension.ts': 'export default { route: 1 }' },
      fault: 'notes cannot be used: extension.ts declares route, but an extension has roles and routes only',
    },
    {
      why: 'a missing package',
      files: { 'notes/extension.ts': `import 'no-such-package'` },
      fault: /no-such-package/,
    },
    {
      why: 'an error',
      files: { 'notes/extension.ts': `\nthrow new TypeError('boom')` },
      fault: /: boom \(extension\.ts:2\)$/,
    },
    {
      why: 'no routes in their module',
      files: { 'notes/extension.ts': ENTRY, 'notes/routes.ts': '' },
      fault: /routes must be a function that is exported/,
    },
  ])('is refused by name, in one line: $why', async ({ files, fault }) => {
    await using folder = await someExtensions(files)
    const loading = (async () => {
      for (const extension of await loadExtensions(findExtensions(folder.path))) await extension.loadRoutes()
    })()
    await expect(loading).rejects.toThrow(fault)
    await expect(loading).rejects.toThrow(/^The extension [^\n]+ cannot be used: [^\n]+$/)
  })

  it('is not one for a file, or a folder that no one can see', async () => {
    await using folder = await someExtensions({ 'README.md': '', '.git/x': '', 'notes/extension.ts': ENTRY })
    expect(findExtensions(folder.path)).toEqual([getExtension('notes', folder.path)])
    expect(findExtensions(join(folder.path, 'absent'))).toEqual([])
  })
})
