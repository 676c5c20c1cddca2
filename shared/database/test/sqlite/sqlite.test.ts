import { describe, expect, it } from 'vitest'
import { describeUserRepository } from '../../../users/test/user-repository.suite.ts'
import { DIALECTS, findDialect } from '../../dialects.ts'
import { readMigrations } from '../../migration-files.ts'
import { createMigrator } from '../../migrations.ts'
import { sqlite } from './dialect.ts'
import { openEmpty, openMigrated } from './open-empty.ts'

const MIGRATIONS = readMigrations('migrations', import.meta.dirname)

describe('a third dialect', () => {
  it('is found by the protocol of its URL, and unknown without its registration', () => {
    expect(findDialect('sqlite:///x', [...DIALECTS, sqlite])).toBe(sqlite)
    expect(() => findDialect('sqlite:///x')).toThrow(/sqlite:, only postgres:, postgresql:, mysql:, mariadb:/)
  })

  it('migrates up and down, once however many start', async () => {
    await using database = await openEmpty()
    const migrator = createMigrator(database.db, MIGRATIONS)
    const ran = await Promise.all([migrator.up(), migrator.up()])
    expect(ran.flat()).toEqual(['0001_users'])
    expect((await migrator.status()).map(({ adopted }) => adopted)).toEqual([false])
    expect(await migrator.down()).toEqual(['0001_users'])
  })

  it('refuses tables that are there, where it does not say how to adopt them', async () => {
    await using database = await openEmpty()
    await database.db.runScript('create table users (id integer primary key, userid blob)')
    await expect(createMigrator(database.db, MIGRATIONS).up()).rejects.toThrow(
      /already, and this kind of database cannot adopt it/,
    )
  })
})

describeUserRepository(openMigrated)
