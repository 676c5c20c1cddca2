import { randomBytes } from 'node:crypto'
import { mkdtempDisposable, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addressOf, startAuthApiProcess } from '@latchkey/test-support/auth-api-process.ts'
import { type Engine, isPostgres } from '@latchkey/test-support/engine.ts'
import { docker, ROOT } from '@latchkey/test-support/images.ts'
import { olderSchema } from '@latchkey/test-support/older-schemas.ts'
import { endedOf, IMAGE } from '@latchkey/test-support/scriptify-image.ts'
import { builtScriptifyImage, sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { createEmptyDatabase, type TestDatabase } from '@latchkey/test-support/test-database.ts'
import { GenericContainer, Wait } from 'testcontainers'
import { beforeAll, describe, expect, it } from 'vitest'
import { readSnippets } from '../../scripts/docs/snippets.ts'

const PORT = 8000
const PASSWORDS = { first: 'c0rrect-Horse!', second: 'Gr8!Lantern7Mx', third: 'N3w-p4ssw0rd!' }
const WHILE_BOTH_RUN = { PASSWORD_HASH: 'sha1', PASSWORD_HASH_SHARED: 'sha1' }
const AFTER_THE_SWITCH = { PASSWORD_HASH: 'argon2id' }

/** The PHP application relies on the usual settings of a server. The shared servers have those of `odd-settings.ts`. */
const ON_CONNECT = {
  mysql: 'set autocommit = 1, sql_select_limit = 18446744073709551615',
  postgres: "set client_encoding = 'UTF8'",
}

const blocksOf = (page: string) => readSnippets(ROOT, page).map(({ text }) => text)
const [statusBlock = '', dryRunBlock = '', adoptBlock = ''] = blocksOf(
  'docs/how-to/adopt-an-existing-database.md',
)
const [keepHashes = '', countBlock = '', restoreOfMysql = '', restoreOfPostgres = ''] = blocksOf(
  'docs/how-to/come-from-php.md',
)

const importBlocks = blocksOf('docs/how-to/import-users.md')
const [exportSql = '', exportOfMysql = '', exportOfPostgres = '', importBlock = '', findNewId = ''] =
  importBlocks.slice(importBlocks.findIndex((text) => text.includes('property:legacy_id')))

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
      expect(await countSha1(settings)).toBe('2')
      expect((await latchkey.logIn('ada', third)).status).toBe(200)
      expect(await countSha1(settings)).toBe('1')
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

/** The tables of php-authuser before its ids were UUIDs. */
const INTEGER_IDS = {
  mysql: `
    create table users (
      userid integer auto_increment not null, name varchar(50), email varchar(120), username varchar(15) not null,
      password char(40) not null, created datetime, admin enum('Y','N'), constraint pk_users primary key (userid)
    );
    create table users_property (
      customid integer auto_increment not null, name varchar(20), value varchar(100), userid integer not null,
      constraint pk_custom primary key (customid),
      constraint fk_custom_user foreign key (userid) references users (userid)
    );`,
  postgres: `
    create table users (
      userid serial primary key, name varchar(50), email varchar(120), username varchar(15) not null,
      password char(40) not null, created timestamp, admin char(1)
    );
    create table users_property (
      customid serial primary key, name varchar(20), value varchar(100), userid integer not null references users
    );`,
}

describe.each<Engine>(['mysql', 'mariadb', 'postgres'])('php-authuser with integer ids on %s', (engine) => {
  it('is left as it is: its users are imported, and keep their old ids', async () => {
    await using old = await createEmptyDatabase(engine)
    await using latchkeys = await createEmptyDatabase(engine)
    await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-php-'))
    await old.db.runScript(INTEGER_IDS[isPostgres(engine) ? 'postgres' : 'mysql'])
    const { first } = PASSWORDS
    const hash = await hashByPhp(first)
    await old.db.runScript(`insert into users (name, email, username, password, admin) values
      ('Ada "the first", Lovelace', 'ada@example.com', 'ada', '${hash}', 'Y'),
      (null, null, 'nomail', '${hash}', 'N'),
      ('', 'md5@example.com', 'md5', '${'5'.repeat(32)}', null),
      ('', 'empty@example.com', 'empty', '', 'N'),
      ('', 'ada@example.com', 'twin', '${hash}', 'N');`)

    const settings = { ...(await settingsFor(old)), LOGIN_FIELD: 'username' }
    const refused = await shell('npm run migrate -- up --adopt', settings)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('docs/how-to/import-users.md') })
    const counted = await shell('npm run migrate -- status', settings)
    expect(counted.stdout).toMatch(/no e-mail +1\n[\s\S]*sha1 +3\n/)

    await writeFile(join(folder.path, 'export.sql'), exportSql)
    await exportUsers(engine, old.url, folder.path)
    const inFolder = importBlock
      .replace(/^export DATABASE_URL=.*$/m, '')
      .replace('users.csv', join(folder.path, 'users.csv'))
    const ofLatchkey = { ...settings, DATABASE_URL: latchkeys.url }
    const imported = await shell(inFolder.replace('npm run migrate -- status', ''), ofLatchkey)
    expect(imported).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('Imported 4, already there 0, refused 1.\nWithout an e-mail: 1.'),
    })
    expect(await readFile(join(folder.path, 'users.csv.refused.csv'), 'utf8')).toBe(
      'line,field,reason\n6,"email","is also that of line 2"\n',
    )
    const status = await shell('npm run migrate -- status', ofLatchkey)
    expect(status).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/no login verifies +2\n[\s\S]*sha1 +2/),
    })

    await using latchkey = await startLatchkey(ofLatchkey)
    for (const username of ['ada', 'nomail']) expect((await latchkey.logIn(username, first)).status).toBe(200)
    expect((await latchkey.logIn('empty', '')).status).not.toBe(200)
    expect(await latchkeys.db.query({ name: 'test-id', text: findNewId.replace('17', '2') })).toHaveLength(1)
  })
})

/** A hash as php-authuser stored it. */
const hashByPhp = async (password: string): Promise<string> =>
  docker('run', '--rm', '--entrypoint', 'php', IMAGE, '-r', 'echo strtoupper(sha1($argv[1]));', password)

/** Runs the command of the page in the container of the client. */
async function exportUsers(engine: Engine, url: string, folder: string): Promise<void> {
  const { hostname, port, username, password, pathname } = new URL(url)
  const client = isPostgres(engine) ? 'psql' : engine === 'mariadb' ? 'mariadb' : 'mysql'
  const command = isPostgres(engine)
    ? exportOfPostgres.replace(/postgres:\S+/, url)
    : exportOfMysql
        .replace(/^mysql/, client)
        .replace('db.example.com', hostname.replace('localhost', '127.0.0.1'))
        .replace('--user shop --password shop', `--port ${port} --user ${username} ${pathname.slice(1)}`)
  const inContainer = `${client}() {
    docker run --rm -i --network host --env MYSQL_PWD='${password}' --entrypoint ${client} ${CLIENTS[client]} "$@"
  }`
  const { code, stderr } = await endedOf('bash', ['-ec', `${inContainer}\ncd '${folder}'\n${command}`])
  expect(code, stderr).toBe(0)
}

const CLIENTS = { psql: 'postgres:18', mysql: 'mysql:9', mariadb: 'mariadb:11.8' }

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

/** The number of users whose hash is SHA-1, as the page on PHP counts them. */
const countSha1 = async (settings: Record<string, string>): Promise<string | undefined> =>
  /^sha1 +(\d+)$/m.exec((await shell(countBlock, settings)).stdout)?.[1]

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
      ON_CONNECT: ON_CONNECT[isPostgres(engine) ? 'postgres' : 'mysql'],
    })
    .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
    .withCopyFilesToContainer([
      {
        source: join(ROOT, 'test-support/php-shop/index.php'),
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
  const api = startAuthApiProcess(settings)
  const address = await addressOf(api)
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
  return {
    logIn: (username: string, password: string) =>
      post(`${address}/login`, {
        username: settings.LOGIN_FIELD === 'username' ? username : `${username}@example.com`,
        password,
      }),
    profile: async (token: string) => (await fetch(`${address}/profile`, { headers: bearer(token) })).status,
    changePassword: async (token: string, currentPassword: string, password: string) =>
      (
        await post(
          `${address}/profile/password`,
          { current_password: currentPassword, password },
          bearer(token),
          'PUT',
        )
      ).status,
    [Symbol.asyncDispose]: () => api[Symbol.asyncDispose](),
  }
}
