import { setTimeout as wait } from 'node:timers/promises'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { type Migration, readAllMigrations } from '@latchkey/shared/database/migration-files.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { mysqlContainer } from '@latchkey/test-support/mysql-container.ts'
import mysql from 'mysql2/promise'
import { expect, inject, it, onTestFinished } from 'vitest'

const WAIT_TIMEOUT_SECONDS = 5
const WIDER: Migration = {
  name: '9998_wider',
  upSql: 'alter table users add column extra integer',
  downSql: 'alter table users drop column extra',
  checksum: '1'.repeat(64),
}

it.runIf(inject('hasDocker'))(
  'the lock of a migration is kept on a server that closes idle connections',
  async () => {
    await using container = await mysqlContainer()
      .withCommand(['--skip-log-bin', `--wait-timeout=${WAIT_TIMEOUT_SECONDS}`])
      .start()
    const url = `mysql://root:root@${container.getHost()}:${container.getPort()}/${container.getDatabase()}`
    const db = await openDatabase(url)
    onTestFinished(() => db.close())
    const migrator = () => createMigrator(db, [...readAllMigrations('mysql'), WIDER])
    await createMigrator(db).up()

    const holder = await mysql.createConnection(url)
    onTestFinished(() => holder.end())
    await holder.query('set wait_timeout = 600')
    await holder.query('start transaction')
    await holder.query('select count(*) from users')
    const first = migrator().up()
    // The connection of the lock would be closed in this time, if nothing used it.
    await wait(2_000 * WAIT_TIMEOUT_SECONDS)
    const second = migrator().up()
    const outcomes = Promise.allSettled([first, second])
    await wait(3_000)
    await holder.query('commit')
    expect(await outcomes).toEqual([
      { status: 'fulfilled', value: [WIDER.name] },
      { status: 'fulfilled', value: [] },
    ])
  },
)
