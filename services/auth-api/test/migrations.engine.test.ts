import { hash } from 'node:crypto'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { aUser, PASSWORD } from '@latchkey/test-support/a-user.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { olderSchema } from '@latchkey/test-support/older-schemas.ts'
import { createEmptyDatabase, createTestDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'
import { aToken, bearer, logIn, startApp } from './support/start-app.ts'

const NAMES = readAllMigrations('postgres').map(({ name }) => name)

const handMade = (): string => olderSchema('the specification')

describe('migrations', () => {
  it('run once each when several start at the same moment', async () => {
    await using database = await createEmptyDatabase()
    const ran = await Promise.all([1, 2, 3].map(() => createMigrator(database.db).up()))
    expect(ran.flat().sort()).toEqual(NAMES)
    const status = await createMigrator(database.db).status()
    expect(status.every(({ appliedAt, adopted }) => appliedAt instanceof Date && !adopted)).toBe(true)
  })

  it('run over a pool of one connection', async () => {
    await using database = await createEmptyDatabase()
    const db = await openDatabase(database.url, { poolSize: 1 })
    try {
      expect(await createMigrator(db).up()).toEqual(NAMES)
    } finally {
      await db.close()
    }
  })

  it('report what is pending in an empty database', async () => {
    await using database = await createEmptyDatabase()
    const status = await createMigrator(database.db).status()
    expect(status.map(({ name, appliedAt }) => [name, appliedAt])).toEqual(
      NAMES.map((name) => [name, undefined]),
    )
  })

  it('go down one by one and up again', async () => {
    await using database = await createTestDatabase()
    const migrator = createMigrator(database.db)
    for (const name of [...NAMES].reverse()) expect(await migrator.down()).toEqual([name])
    expect(await migrator.down()).toEqual([])
    expect(await migrator.up()).toEqual(NAMES)
  })

  it('run again after kills between their scripts and their records, and drop no table they may not own', async () => {
    await using database = await createEmptyDatabase()
    const { db } = database
    const seen = new Set<string>()
    const killed = createMigrator({
      ...db,
      async runScript(sql) {
        await db.runScript(sql)
        if (seen.has(sql)) return
        seen.add(sql)
        throw new Error('killed')
      },
    })
    for (const script of ['the records', ...NAMES])
      await expect(killed.up(), `after ${script}`).rejects.toThrow('killed')

    const migrator = createMigrator(db)
    expect(await migrator.up()).toEqual(NAMES.slice(-1))
    expect((await migrator.status()).map(({ adopted }) => adopted)).toEqual(NAMES.map((_, at) => at === 0))
    await expect(migrator.down(NAMES.length)).rejects.toThrow(/does not drop/)
    expect(await migrator.up()).toEqual(NAMES.slice(1))
  })

  it('that failed to create the tables adopt those created by hand since, and drop nothing', async () => {
    await using database = await createEmptyDatabase()
    const { db } = database
    const [first, ...rest] = readAllMigrations(db.dialect.name)
    if (!first) throw new Error('There are no migrations')
    const failing = createMigrator(db, [
      { ...first, upSql: 'create table nowhere.users (userid integer)' },
      ...rest,
    ])
    for (const attempt of [1, 2]) await expect(failing.up(), `attempt ${attempt}`).rejects.toThrow()

    await db.runScript(`${handMade()} insert into users (username, password) values ('ada', 'x')`)
    const migrator = createMigrator(db)
    expect(await migrator.up()).toEqual(NAMES)
    expect((await migrator.status())[0]?.adopted).toBe(true)
    await expect(migrator.down(NAMES.length)).rejects.toThrow(/does not drop/)
    expect(await db.query({ name: 'test-kept', text: 'select username from users' })).toEqual([
      { username: 'ada' },
    ])
  })

  it('refuse a file that was edited after it had been applied', async () => {
    await using database = await createTestDatabase()
    const [first, ...rest] = readAllMigrations(database.db.dialect.name)
    if (!first) throw new Error('There are no migrations')
    const changed = createMigrator(database.db, [{ ...first, checksum: '0'.repeat(64) }, ...rest])
    await expect(changed.up()).rejects.toThrow(`Migration ${first.name} was edited after it had been applied`)
  })

  it('leave the migrations of a newer release alone', async () => {
    await using database = await createTestDatabase()
    const older = createMigrator(database.db, readAllMigrations(database.db.dialect.name).slice(0, 2))
    expect(await older.up()).toEqual([])
  })

  it('keep long hashes: reverting the wider column fails and loses nothing', async () => {
    await using app = await startApp()
    const userid = await app.users.insert({ username: 'long', passwordHash: `$argon2id$${'x'.repeat(80)}` })
    const migrator = createMigrator(app.database.db)
    await expect(migrator.down(NAMES.length - 1)).rejects.toThrow()
    expect((await app.users.findById(userid))?.passwordHash).toHaveLength(90)
  })
})

describe('a database whose specified tables were created by hand', () => {
  it('is served as it is: its users log in, their hashes are replaced, nothing else of theirs changes', async () => {
    await using database = await createEmptyDatabase()
    const { db } = database
    await db.runScript(handMade())
    const createdAt = new Date('2019-03-04T05:06:07Z')
    const insert = {
      name: 'test-adopt',
      text: 'insert into users (name, email, username, password, role, created_at) values ($1, $2, $3, $4, $5, $6)',
    }
    await db.execute(insert, ['Ada', 'Ada@Example.com', 'ada', hash('sha1', PASSWORD), 'admin', createdAt])
    await db.execute(insert, [null, null, 'ghost', hash('sha1', 'x'), null, createdAt])
    const readAll = () =>
      db.query<Record<string, unknown>>({
        name: 'test-adopt-all',
        text: 'select userid, name, email, username, role, created_at, updated_at, deleted_at from users order by username',
      })
    const before = await readAll()

    expect(await createMigrator(db).up()).toEqual(NAMES)
    await using app = await startApp({ database, settings: { PASSWORD_HASH: 'argon2id' } })
    const response = await logIn(app, 'ada@example.com')
    expect(response.json().data).toMatchObject({ name: 'Ada', role: 'admin' })
    const profile = await app.server.inject({ url: '/profile', headers: bearer(response.json().token) })
    expect(profile.json()).toMatchObject({
      email: 'Ada@Example.com',
      created_at: createdAt.toISOString(),
      updated_at: null,
    })
    expect(await readAll()).toEqual(before)
    expect((await app.users.findByLogin('username', 'ada'))?.passwordHash).toMatch(/^\$argon2id\$/)
    expect((await app.users.findByLogin('username', 'ghost'))?.passwordHash).toBe(hash('sha1', 'x'))

    const status = await createMigrator(db).status()
    expect(status[0]?.adopted).toBe(true)
    await app.users.setPassword(
      (await app.users.findByLogin('username', 'ada'))?.userid ?? '',
      hash('sha1', PASSWORD),
    )
    await expect(createMigrator(db).down(NAMES.length)).rejects.toThrow(/does not drop/)
    expect(await readAll()).toHaveLength(2)
  })

  it('may be on a server of any time zone: what is stored from now on is in UTC', async () => {
    await using database = await createEmptyDatabase()
    const { db } = database
    // MySQL's time zone is a setting of the server.
    if (isPostgres())
      await db.runScript(
        `alter database ${new URL(database.url).pathname.slice(1)} set timezone to 'Europe/Berlin'`,
      )
    await db.runScript(handMade())
    await createMigrator(db).up()
    await using app = await startApp({ database })
    const token = await aToken(app, await aUser(app))
    const headers = bearer(token)
    const begin = Date.now()
    await app.server.inject({ method: 'PUT', url: '/profile', headers, payload: { name: 'Grace' } })
    const profile = (await app.server.inject({ url: '/profile', headers })).json()
    const [status] = await createMigrator(db).status()
    for (const time of [profile.updated_at, status?.appliedAt]) {
      expect(Math.abs(new Date(time).getTime() - begin), String(time)).toBeLessThan(60_000)
    }
  })

  it('may have given its users ids of no UUID version: they log in and have a profile', async () => {
    await using app = await startApp()
    const { db } = app.database
    const userid = '01234567-89ab-cdef-0123-456789abcdef'
    await db.execute(
      {
        name: 'test-odd-id',
        text: 'insert into users (userid, email, username, password) values ($1, $2, $3, $4)',
      },
      [db.toUuidValue(userid), 'odd@example.com', 'odd', hash('sha1', PASSWORD)],
    )
    const response = await logIn(app, 'odd@example.com')
    expect(response.statusCode).toBe(200)
    expect(response.json().data.userid).toBe(userid)
    for (const url of ['/sampleprotected/ping', '/profile']) {
      const answer = await app.server.inject({ url, headers: bearer(response.json().token) })
      expect(answer.statusCode, url).toBe(200)
    }
  })
})
