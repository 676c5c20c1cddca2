import { hash, randomBytes } from 'node:crypto'
import type { Database, SqlValue } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { adminUrl, engine, isCluster, isPostgres } from '@latchkey/test-support/engine.ts'
import { dumpSchema, olderSchema } from '@latchkey/test-support/older-schemas.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { Migrations } from '../../../admin/migrations.ts'

const COMMANDS = {
  up: () => new Migrations().up(),
  status: () => new Migrations().status(),
  'up --dry-run': () => new Migrations().up('--dry-run'),
}

/** Returns what `npm run migrate` prints, and its exit code. */
async function migrate(url: string, command: keyof typeof COMMANDS = 'up') {
  const printed = { stdout: '', stderr: '' }
  const printTo = (stream: keyof typeof printed) => (line: unknown) => {
    printed[stream] += `${line}\n`
  }
  vi.stubEnv('DATABASE_URL', url)
  if (!isPostgres()) vi.stubEnv('QUEUE_URL', 'redis://127.0.0.1:1')
  vi.spyOn(console, 'log').mockImplementation(printTo('stdout'))
  vi.spyOn(console, 'error').mockImplementation(printTo('stderr'))
  try {
    await COMMANDS[command]()
    return { code: 0, ...printed }
  } catch (error) {
    return { code: 1, ...printed, stderr: `${printed.stderr}${errorMessage(error)}\n` }
  } finally {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  }
}

const run = (db: Database, sql: string, values: SqlValue[] = []) =>
  db.query({ name: `test-${hash('sha1', sql)}`, text: sql }, values)

async function open(url: string): Promise<Database> {
  const db = await openDatabase(url, { poolSize: 2 })
  onTestFinished(() => db.close())
  return db
}

const urlOf = (url: string, change: Partial<URL>): string => Object.assign(new URL(url), change).href

const aName = (kind: string): string => `test_${kind}_${randomBytes(5).toString('hex')}`

/** Returns the SQL that a message tells an administrator to run. */
const remedyIn = (message: string): string => / (?:runs|another way): (.*;)/.exec(message)?.[1] ?? 'none'

const TEXTS = [
  {
    what: 'C',
    options: "encoding 'UTF8' locale_provider libc locale 'C'",
    says: /locale .* is C: the lower case of .* has to be/,
    names: ['JÖRG', 'jörg'],
  },
  {
    what: 'Turkish',
    options: "encoding 'UTF8' locale_provider icu icu_locale 'tr' locale 'C.UTF-8'",
    says: /locale .* is tr: the lower case of I is ı there, and has to be i/,
    names: ['INFO', 'info'],
  },
  {
    what: 'Azeri',
    options: "encoding 'UTF8' locale_provider icu icu_locale 'az' locale 'C.UTF-8'",
    says: /locale .* is az: the lower case of I /,
    names: ['ILKA', 'ilka'],
  },
  {
    what: 'Lithuanian',
    options: "encoding 'UTF8' locale_provider icu icu_locale 'lt' locale 'C.UTF-8'",
    says: /locale .* is lt: the lower case of Ì /,
    names: ['Ìda', 'ìda'],
  },
  {
    what: 'SQL_ASCII',
    options: "encoding 'SQL_ASCII' locale_provider libc locale 'C'",
    says: /encoding .* is SQL_ASCII, and has to be UTF8/,
    names: ['JÖRG', 'jörg'],
  },
  {
    what: 'LATIN1',
    options: "encoding 'LATIN1' locale_provider libc locale 'C'",
    says: /encoding .* is LATIN1, and has to be UTF8/,
    names: [],
  },
]

describe.runIf(isPostgres() && engine() !== 'given')('texts of the database', () => {
  async function aDatabase(options: string) {
    const admin = await open(await adminUrl())
    const name = aName('text')
    await run(admin, `create database ${name} template template0 ${options}`)
    onTestFinished(async () => void (await run(admin, `drop database ${name} with (force)`)))
    const url = urlOf(await adminUrl(), { pathname: `/${name}` })
    return { admin, name, url }
  }

  it.each(TEXTS)(
    'like $what are refused by name on an empty database, which stays empty',
    async ({ options, says }) => {
      const { admin, name, url } = await aDatabase(options)
      for (const command of ['up', 'status', 'up --dry-run'] as const) {
        const { code, stdout, stderr } = await migrate(url, command)
        expect(code, command).toBe(1)
        expect(`${stdout}${stderr}`).toMatch(says)
        expect(`${stdout}${stderr}`).toContain(name)
      }
      const db = await openDatabase(url)
      expect(
        await run(db, "select relname from pg_class where relnamespace = 'public'::regnamespace"),
      ).toEqual([])
      await db.close()
      // The statement in the message gives a database that works.
      const { stderr } = await migrate(url)
      await run(admin, `drop database ${name} with (force)`)
      await run(admin, remedyIn(stderr))
      expect((await migrate(url)).code).toBe(0)
    },
  )

  it('like LATIN1 of accounts that exist are refused, since a migration names a letter that it lacks', async () => {
    const { url } = await aDatabase("encoding 'LATIN1' locale_provider libc locale 'C'")
    const db = await openDatabase(url)
    await db.runScript(olderSchema('the specification'))
    await run(db, "insert into users (username, email, password) values ('ada', 'ada@example.com', 'x')")
    const { code, stderr } = await migrate(url)
    expect(stderr).toMatch(/nothing was changed.*\n.*encoding .* is LATIN1, and has to be UTF8/)
    expect(code).toBe(1)
    await db.close()
  })

  it.each(TEXTS.filter(({ names }) => names.length > 0))(
    'like $what of accounts that exist: a warning with the number of accounts that collide',
    async ({ options, says, names }) => {
      const { url } = await aDatabase(options)
      const db = await openDatabase(url)
      await db.runScript(olderSchema('the specification'))
      const others = ['müller', 'ilka1', 'ada']
      for (const name of [...names, ...others])
        await run(db, 'insert into users (username, email, password) values ($1, $2, $3)', [
          name,
          `${name}@example.com`,
          'x',
        ])
      await db.close()
      for (const command of ['up --dry-run', 'up', 'status', 'up'] as const) {
        const { code, stderr } = await migrate(url, command)
        expect(stderr).toMatch(says)
        expect(stderr).toContain(`Warning: `)
        expect(stderr).toContain('2 accounts have a name that another account has')
        expect(code, command).toBe(0)
      }
    },
  )
})

describe.runIf(isPostgres() && engine() !== 'given')('a right that is missing', () => {
  async function aRole() {
    const database = await createEmptyDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const role = aName('owner')
    const name = new URL(database.url).pathname.slice(1)
    const admin = await open(urlOf(await adminUrl(), { pathname: `/${name}` }))
    await run(admin, `create role ${role} login password 'secret'`)
    onTestFinished(async () => {
      await run(admin, `drop owned by ${role} cascade`)
      await run(admin, `drop role ${role}`)
    })
    const url = urlOf(await adminUrl(), { pathname: `/${name}`, username: role, password: 'secret' })
    return { admin, role, name, url }
  }

  it.each([
    {
      what: 'the right to create in the schema',
      prepare: () => 'create schema bullmq authorization ROLE',
      says: /may not create tables in the schema public/,
    },
    {
      what: 'a schema',
      prepare: () =>
        'create schema bullmq authorization ROLE; alter role ROLE in database NAME set search_path = auth',
      says: /search_path of .* is "?auth"?, and names no schema/,
    },
    {
      what: 'the right to use the schema',
      prepare: () =>
        'create schema bullmq authorization ROLE; create schema auth; alter role ROLE in database NAME set search_path = auth',
      says: /search_path of .* is "?auth"?, and names no schema/,
    },
    {
      what: 'the right to create the schema of the queue',
      prepare: () =>
        'create schema auth authorization ROLE; alter role ROLE in database NAME set search_path = auth',
      says: /may not create the schema bullmq of the database .*QUEUE_URL/,
    },
    {
      what: 'the right to create in the schema of the queue',
      prepare: () =>
        'create schema bullmq; create schema auth authorization ROLE; alter role ROLE in database NAME set search_path = auth',
      says: /may not create tables in the schema bullmq/,
    },
    {
      what: 'the ownership of a table that exists',
      prepare: () => `create schema bullmq authorization ROLE; grant create on schema public to ROLE;
        ${olderSchema('the specification')}; grant all on users, users_property to ROLE`,
      says: /may not change the table users, since it is not its owner/,
    },
  ])('is named before anything is changed, with what grants it: $what', async ({ prepare, says }) => {
    const { admin, role, name, url } = await aRole()
    await admin.runScript(prepare().replaceAll('ROLE', role).replaceAll('NAME', name))
    const list = () =>
      run(
        admin,
        `select relname from pg_class join pg_namespace space on space.oid = relnamespace
      where nspname in ('public', 'auth', 'bullmq') order by 1`,
      )
    const before = await list()
    for (const command of ['up', 'status', 'up --dry-run'] as const) {
      const { code, stdout, stderr } = await migrate(url, command)
      expect(`${stdout}${stderr}`).toMatch(says)
      expect(code, command).toBe(1)
    }
    expect(await list()).toEqual(before)
    for (;;) {
      const { code, stderr } = await migrate(url)
      if (code === 0) break
      expect(remedyIn(stderr), stderr).not.toBe('none')
      for (const [, remedy = ''] of stderr.matchAll(/runs: (.*;)/g)) await admin.runScript(remedy)
    }
    expect((await migrate(url, 'status')).code).toBe(0)
  })

  it('is none where an administrator has created both schemas for the role', async () => {
    const { admin, role, name, url } = await aRole()
    await admin.runScript(`create schema auth authorization ${role}; create schema bullmq authorization ${role};
      alter role ${role} in database ${name} set search_path = auth`)
    for (const attempt of ['first', 'second']) expect((await migrate(url)).stderr, attempt).toBe('')
  })

  it('is not needed once nothing is pending', async () => {
    const { admin, role, name, url } = await aRole()
    await admin.runScript(`create schema auth authorization ${role}; create schema bullmq authorization ${role};
      alter role ${role} in database ${name} set search_path = auth`)
    await migrate(url)
    await admin.runScript(`alter schema auth owner to current_user; grant usage on schema auth to ${role}`)
    expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' })
  })
})

describe.runIf(!isPostgres() && engine() !== 'given' && !isCluster())('a right that is missing', () => {
  const RIGHTS = [
    'create',
    'create view',
    'drop',
    'alter',
    'index',
    'references',
    'select',
    'insert',
    'update',
    'delete',
  ]

  async function aLogin(rights: readonly string[]) {
    const database = await createEmptyDatabase()
    onTestFinished(() => database[Symbol.asyncDispose]())
    const login = aName('o')
    const name = new URL(database.url).pathname.slice(1)
    await run(database.db, `create user ${login} identified by 'secret'`)
    onTestFinished(async () => void (await run(database.db, `drop user ${login}`)))
    await run(database.db, `grant ${rights.join(', ')} on ${name}.* to ${login}`)
    return { admin: database.db, url: urlOf(database.url, { username: login, password: 'secret' }) }
  }

  it.each([
    'create',
    'create view',
    'drop',
    'alter',
    'index',
    ...(engine() === 'mysql' ? ['references'] : []),
  ])('is named before anything is changed, with what grants it: %s', async (missing) => {
    const { admin, url } = await aLogin(RIGHTS.filter((right) => right !== missing))
    const before = await dumpSchema(admin)
    for (const command of ['up', 'status', 'up --dry-run'] as const) {
      const { code, stdout, stderr } = await migrate(url, command)
      expect(`${stdout}${stderr}`).toMatch(
        new RegExp(`may not change the tables of the database .*${missing}.* denied`, 'i'),
      )
      expect(code, command).toBe(1)
    }
    expect(await dumpSchema(admin)).toBe(before)
    const { stderr } = await migrate(url)
    await run(admin, remedyIn(stderr))
    expect(await migrate(url)).toMatchObject({ code: 0, stderr: '' })
  })
})
