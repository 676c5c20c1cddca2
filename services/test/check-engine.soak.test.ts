import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { listFunctions, listTables } from '@latchkey/test-support/given-database.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it } from 'vitest'

const PROGRAM = join(import.meta.dirname, '../../scripts/engine/check-engine.ts')

async function check(...args: string[]) {
  // Vitest's own variables would reach the suites that the check runs.
  const environment = Object.entries(process.env).filter(([name]) => !/^(VITEST|TINYPOOL)/.test(name))
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: Object.fromEntries(environment) })
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'exit'),
  ])
  return { code, stdout, stderr }
}

describe('the check of an engine', () => {
  it.each([[], ['not a URL'], ['postgres://127.0.0.1'], ['postgres://127.0.0.1/a', 'b']])(
    'says how it is used: %o',
    async (...args) => {
      const answer = await check(...args)
      expect(answer).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/^Usage: /) })
    },
  )

  it.each(['create table kept (id integer)', 'create function kept() returns int return 1'])(
    'refuses a database that is not empty, and drops nothing: %s',
    async (sql) => {
      await using database = await createEmptyDatabase('postgres')
      await database.db.runScript(sql)
      const answer = await check(database.url)
      expect(answer).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('(kept)') })
      await database.db.runScript(`${sql.replace(/^create (\w+).*/s, 'drop $1')} kept`)
    },
  )

  it('refuses a database that is not as migrations need it, and says what changes that', async () => {
    await using database = await createEmptyDatabase('postgres')
    const name = new URL(database.url).pathname.slice(1)
    await database.db.runScript(
      `create database ${name}_c template template0 locale_provider libc locale 'C'`,
    )
    const answer = await check(`${database.url}_c`)
    await database.db.runScript(`drop database ${name}_c`)
    expect(answer).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(`The locale of the database ${name}_c is C`),
    })
    expect(answer.stderr).toMatch(
      new RegExp(`create database "?${name}_c"? template template0 encoding 'UTF8'`),
    )
  })

  it('shows what an engine without triggers breaks, and leaves it as it was', async () => {
    await using database = await createEmptyDatabase('postgres')
    await database.db.runScript('create extension pgcrypto; alter language plpgsql rename to other')
    const { code, stdout, stderr } = await check(database.url)
    expect(stdout).toMatch(/^FAILS +types.* 0 of \d+ +two users share an e-mail/m)
    expect(stdout).toMatch(/^not run +the outbox/m)
    expect(stdout).toContain(
      'Migration 0001_users (up) failed: Original error: language "plpgsql" does not exist',
    )
    expect(`${stdout}${stderr}`).not.toMatch(/^\s+(at|❯) /m)
    expect(code).toBe(1)
    expect([...(await listTables(database.db)), ...(await listFunctions(database.db))]).toEqual([])
  })
})
