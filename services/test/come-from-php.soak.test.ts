import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { GenericContainer, Wait } from 'testcontainers'
import { beforeAll, describe, expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'
import { startService } from '../../scripts/local/service-process.ts'
import { builtScriptifyImage, sharedServer } from './servers/shared-server.ts'
import { type Engine, isPostgres } from './support/engine.ts'
import { ROOT } from './support/images.ts'
import { olderSchema } from './support/older-schemas.ts'
import { endedOf, IMAGE } from './support/scriptify-image.ts'
import { createEmptyDatabase, type TestDatabase } from './support/test-database.ts'

const PORT = 8000
const PASSWORDS = { first: 'c0rrect-Horse!', second: 'Gr8!Lantern7Mx', third: 'N3w-p4ssw0rd!' }
const WHILE_BOTH_RUN = { PASSWORD_HASH: 'sha1', PASSWORD_HASH_SHARED: 'sha1' }
const AFTER_THE_SWITCH = { PASSWORD_HASH: 'argon2id' }

const blocksOf = (page: string) => readSnippets(ROOT, page).map(({ text }) => text)
const [statusBlock = '', dryRunBlock = '', adoptBlock = ''] = blocksOf(
  'docs/how-to/adopt-an-existing-database.md',
)
const [keepHashes = '', countLeft = '', restoreOfMysql = '', restoreOfPostgres = ''] = blocksOf(
  'docs/how-to/come-from-php.md',
)

beforeAll(builtScriptifyImage)

describe.each<Engine>(['mysql', 'mariadb', 'postgres'])('beside a PHP application on %s', (engine) => {
  it('adopts its tables, shares the users, takes over, and hands them back', async () => {
    await using database = await createEmptyDatabase(engine)
    await database.db.runScript(olderSchema('plain indexes', engine))
    const settings = await settingsFor(database)
    await using php = await startPhp(engine, settings)
    const { first, second, third } = PASSWORDS
    for (const username of ['ada', 'grace']) expect(await php.register(username, first)).toBe(200)

    await adopt(settings)
    expect(await php.register('mallory', first, 'ada@example.com')).toBe(409)

    await expect(startLatchkey({ ...settings, ...WHILE_BOTH_RUN, ...AFTER_THE_SWITCH })).rejects.toThrow('78')
    {
      await using latchkey = await startLatchkey({ ...settings, ...WHILE_BOTH_RUN })
      const { token } = await latchkey.logIn('ada', first)
      expect(await php.logIn('ada', first), 'the hash is still one that PHP reads').toMatchObject({
        status: 200,
      })
      const ofPhp = await php.logIn('ada', first)
      expect(await latchkey.profile(ofPhp.token), 'a token of PHP').toBe(401)

      expect(await latchkey.changePassword(token, first, second)).toBe(200)
      expect([(await php.logIn('ada', first)).status, (await php.logIn('ada', second)).status]).toEqual([
        401, 200,
      ])
      expect(await php.changePassword('ada', third)).toBe(200)
      const renewed = await latchkey.logIn('ada', third)
      expect(renewed.status).toBe(200)
      await shell('npx scriptify run Users::revoke --arg ada@example.com', { ...settings, ...WHILE_BOTH_RUN })
      await expect.poll(() => latchkey.profile(renewed.token)).toBe(401)
    }

    await database.db.runScript(keepHashes)
    {
      await using latchkey = await startLatchkey({ ...settings, ...AFTER_THE_SWITCH })
      expect(await left(database)).toBe(2)
      expect((await latchkey.logIn('ada', third)).status).toBe(200)
      expect(await left(database)).toBe(1)
      expect((await php.logIn('ada', third)).status).toBe(401)
    }

    await database.db.runScript(isPostgres(engine) ? restoreOfPostgres : restoreOfMysql)
    for (const [username, password] of [
      ['ada', third],
      ['grace', first],
    ] as const)
      expect((await php.logIn(username, password)).status).toBe(200)
  })
})

/** The settings of every command and service of the pages. */
async function settingsFor({ url }: TestDatabase): Promise<Record<string, string>> {
  return {
    APP_ENV: 'prod',
    API_SERVER: 'https://login.example.com',
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    DATABASE_URL: url,
    QUEUE_URL: await sharedServer('redis'),
    JWT_SECRET: randomBytes(64).toString('base64'),
    MAIL_SECRET: randomBytes(32).toString('base64'),
    LOG_LEVEL: 'error',
  }
}

/** The three steps of the page on an existing database. */
async function adopt(settings: Record<string, string>): Promise<void> {
  const onDatabase = (block: string) =>
    shell(block.replace(/^export DATABASE_URL=.*$/m, ''), { ...settings, ...WHILE_BOTH_RUN })
  const refused = await onDatabase(statusBlock)
  expect(refused).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('users.email has no unique index'),
  })
  const planned = await onDatabase(dryRunBlock)
  expect(planned).toMatchObject({ code: 0, stdout: expect.stringContaining('unique index') })
  expect(await onDatabase(statusBlock)).toMatchObject({ code: 1, stdout: refused.stdout })
  const adopted = await onDatabase(adoptBlock)
  expect(adopted).toMatchObject({ code: 0, stdout: expect.stringContaining('its tables already existed') })
}

const shell = (commands: string, environment: Record<string, string>) =>
  endedOf('env', [
    ...Object.entries(environment).map(([name, value]) => `${name}=${value}`),
    ...['sh', '-ec', `cd '${ROOT}'\n${commands}`],
  ])

async function left({ db }: TestDatabase): Promise<number> {
  const [row] = await db.query<Record<string, unknown>>({ name: 'test-left', text: countLeft })
  return Number(Object.values(row ?? {})[0])
}

async function post(url: string, body: object, headers: Record<string, string> = {}, method = 'POST') {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  const answer: { token?: string } = text.startsWith('{') ? JSON.parse(text) : {}
  return { status: response.status, token: answer.token ?? '' }
}

async function startPhp(engine: Engine, settings: Record<string, string>) {
  const url = new URL(settings.DATABASE_URL ?? '')
  const driver = isPostgres(engine) ? 'pgsql' : 'mysql'
  const container = await new GenericContainer(IMAGE)
    .withEnvironment({
      API_SERVER: settings.API_SERVER ?? '',
      JWT_SECRET: settings.JWT_SECRET ?? '',
      DSN: `${driver}:host=host.docker.internal;port=${url.port};dbname=${url.pathname.slice(1)}`,
      DB_USER: decodeURIComponent(url.username),
      DB_PASSWORD: decodeURIComponent(url.password),
    })
    .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
    .withCopyFilesToContainer([
      {
        source: join(import.meta.dirname, 'support/php-shop/index.php'),
        target: '/tmp/index.php',
        mode: 0o644,
      },
    ])
    .withEntrypoint(['php', '-S', `0.0.0.0:${PORT}`, '/tmp/index.php'])
    .withExposedPorts(PORT)
    .withWaitStrategy(Wait.forLogMessage(/started/))
    .start()
  const address = `http://${container.getHost()}:${container.getMappedPort(PORT)}`
  return {
    register: async (username: string, password: string, email = `${username}@example.com`) =>
      (await post(`${address}/register`, { username, email, password })).status,
    logIn: (username: string, password: string) => post(`${address}/login`, { username, password }),
    changePassword: async (username: string, password: string) =>
      (await post(`${address}/password`, { username, password })).status,
    [Symbol.asyncDispose]: async () => void (await container.stop()),
  }
}

async function startLatchkey(settings: Record<string, string>) {
  const main = join(ROOT, 'services/auth-api/src/main.ts')
  const api = startService('auth-api', main, { PATH: process.env.PATH, ...settings })
  const { address = '' } = await api.ready
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    logIn: (username: string, password: string) =>
      post(`${address}/login`, { username: `${username}@example.com`, password }),
    profile: async (token: string) => (await fetch(`${address}/profile`, { headers: bearer(token) })).status,
    changePassword: async (token: string, currentPassword: string, password: string) =>
      (await post(`${address}/profile/password`, { currentPassword, password }, bearer(token), 'PUT')).status,
    [Symbol.asyncDispose]: () => api.stop(),
  }
}
