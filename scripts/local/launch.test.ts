import { once } from 'node:events'
import { createServer } from 'node:net'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { ownSettings, WITHOUT_INBOX } from '@latchkey/test-support/npm-start.ts'
import { countRows, createEmptyDatabase, createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { launchHere } from './launch-here.ts'
import { loadLaunchEnvironment } from './launch-settings.ts'
import { prepareDatabase } from './prepare-database.ts'

let own: Awaited<ReturnType<typeof ownSettings>>
let settings: Record<string, string>
beforeAll(async () => {
  own = await ownSettings()
  settings = { ...own.settings, ...WITHOUT_INBOX }
})
afterAll(() => own?.[Symbol.asyncDispose]())

it.each([
  { setting: 'DATABASE_URL', what: 'The database' },
  { setting: 'QUEUE_URL', what: 'The queue' },
])('names an unreachable server of $setting, and how to get an embedded one', async ({ setting, what }) => {
  await using database = await createEmptyDatabase('embedded')
  const unreachable = { [setting]: 'postgres://latchkey:hidden@127.0.0.1:1/latchkey' }
  await using start = launchHere({ ...settings, DATABASE_URL: database.url, ...unreachable })
  const { message } = await start.launched.then(
    () => new Error('it started'),
    (error: Error) => error,
  )
  expect(message).toContain(`${what} at 127.0.0.1:1 (${setting}) cannot be reached: connect ECONNREFUSED`)
  expect(message).toContain('Without DATABASE_URL')
  expect(message).not.toContain('hidden')
})

it('refuses a DATA_DIR that cannot be created', async () => {
  await using start = launchHere({ ...settings, DATA_DIR: '/proc/latchkey' })
  await expect(start.launched).rejects.toThrow(
    /The data folder \/proc\/latchkey\/dev \(DATA_DIR\) cannot be used: .*mkdir/s,
  )
})

it('starts nothing on accounts that it refuses', async () => {
  await using database = await createEmptyDatabase('embedded')
  await database.db.runScript(
    'create table users (userid int primary key, username varchar(20), password varchar(99));',
  )
  await using start = launchHere({ ...settings, DATABASE_URL: database.url })
  await expect(start.launched).rejects.toThrow('nothing was changed')
  expect(start.openedCount(), 'the file for admins').toBe(1)
})

it('starts no service when another start has taken the port meanwhile', async () => {
  await using database = await createTestDatabase('embedded')
  await using other = createServer()
  const takePort = (count: number) =>
    count === 1 && once(other.listen(Number(settings.PORT), '127.0.0.1'), 'listening')
  await using start = launchHere({ ...settings, DATABASE_URL: database.url }, { beforeOpen: takePort })
  await expect(start.launched).rejects.toThrow(
    `Cannot listen on 127.0.0.1:${settings.PORT}: another process listens there`,
  )
  expect(start.openedCount(), 'the file for admins').toBe(1)
})

it('adds no demo users to a database that has users', async () => {
  await using database = await createTestDatabase('embedded')
  const user = { username: 'real', email: 'real@shop.example', passwordHash: '' }
  await createUserRepository(database.db).insert(user)
  const environment = await loadLaunchEnvironment({ ...settings, DATABASE_URL: database.url })
  expect(await prepareDatabase({ ...environment, QUEUE_URL: database.url })).toEqual([])
  expect(await countRows(database.db, 'users')).toBe(1)
})

it('says what is wrong with the settings of every part in one list', async () => {
  const faulty = {
    PORT: 'x',
    DATABASE_URL: 'oracle://db/x',
    TOKEN_LIFETIME: '0',
    MAIL_RATE: '0',
    DKIM_DOMAIN: 'example.com',
    HASH_QUEUE: '-1',
  }
  const loaded = loadLaunchEnvironment({ ...settings, ...faulty })
  const { message } = await loaded.then(
    () => new Error('they can be used'),
    (error: Error) => error,
  )
  const lines = message.split('\n')
  expect(lines[0]).toBe('The settings cannot be used:')
  const names = lines.slice(1).map((line) => line.trim().split(' ', 1)[0])
  expect(names.filter(Boolean).sort()).toEqual([
    'DATABASE_URL',
    'DKIM_KEY',
    'DKIM_SELECTOR',
    'HASH_QUEUE',
    'MAIL_RATE',
    'PORT',
    'TOKEN_LIFETIME',
  ])
})

it('has no inbox in prod', async () => {
  const prod = { ...settings, APP_ENV: 'prod', MAIL_URL: '' }
  await expect(loadLaunchEnvironment(prod)).rejects.toThrow('MAIL_URL is missing')
})
