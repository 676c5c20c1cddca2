import { spawn } from 'node:child_process'
import { hash, randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { createMigrator } from '@latchkey/shared/database/migrations.ts'
import { errorMessage } from '@latchkey/shared/errors/app-error.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { nameQueue, openBullWorker } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import { createPasswordHasher } from '@latchkey/shared/passwords/password-hasher.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { VALID_FROM_PROPERTY, validFromOf } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { olderSchema } from '@latchkey/test-support/older-schemas.ts'
import {
  createEmptyDatabase,
  createTestDatabase,
  type TestDatabase,
} from '@latchkey/test-support/test-database.ts'
import { printableLines } from '@latchkey/text/printable.ts'
import { UnrecoverableError } from 'bullmq'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createNotify } from '../admin-context.ts'
import { Audit } from '../audit.ts'
import { Migrations } from '../migrations.ts'
import { Queue } from '../queue.ts'
import { Secrets } from '../secrets.ts'
import { Users } from '../users.ts'

const SCRIPTIFY = join(import.meta.dirname, '../../services/scriptify/bin/scriptify')
const ROOT = join(import.meta.dirname, '../..')
const PASSWORD = 'c0rrect-Horse!'
const SHA1 = hash('sha1', PASSWORD)
const ARGON2ID = `$argon2id$v=19$m=19456,t=2,p=1$${'A'.repeat(22)}$${'A'.repeat(43)}`

let database: TestDatabase
let folder: string

beforeAll(async () => {
  database = await createTestDatabase()
  folder = await mkdtemp(join(tmpdir(), 'latchkey-admin-'))
})
afterAll(async () => {
  await database[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

interface Outcome {
  code: number | null
  stdout: string
  stderr: string
}

const environment = () => ({ APP_ENV: 'test', DATABASE_URL: database.url, PASSWORD_HASH: 'argon2id' })

/** Runs the method as an admin does, by `scriptify run` from the project's root, on this project's database. */
async function run(
  [reference = '', ...args]: readonly string[],
  { input = '', env = {} }: { input?: string; env?: Record<string, string> } = {},
): Promise<Outcome> {
  const words = ['run', reference, ...args.flatMap((arg) => ['--arg', arg])]
  const child = spawn(process.execPath, [SCRIPTIFY, ...words], {
    cwd: ROOT,
    env: {
      PATH: process.env.PATH,
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
      ...environment(),
      ...env,
    },
  })
  child.stdin.end(input)
  const [stdout, stderr, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number | null>((resolve) => child.on('close', resolve)),
  ])
  return { code, stdout, stderr }
}

const admin = new Users()
const audit = new Audit()
const queue = new Queue()
const migrations = new Migrations()

/** Calls a method in this process, which most tests are about, instead of starting scriptify. */
async function call(
  method: () => Promise<void>,
  { env = {} }: { env?: Record<string, string> } = {},
): Promise<Outcome> {
  const printed = { stdout: '', stderr: '' }
  for (const [name, value] of Object.entries({ ...environment(), ...env })) vi.stubEnv(name, value)
  const printTo = (stream: keyof typeof printed) => (line: unknown) => {
    printed[stream] += `${line}\n`
  }
  vi.spyOn(console, 'log').mockImplementation(printTo('stdout'))
  vi.spyOn(console, 'error').mockImplementation(printTo('stderr'))
  try {
    await method()
    return { code: 0, ...printed }
  } catch (error) {
    // As `scriptify run` reports it.
    return { code: 1, ...printed, stderr: `${printed.stderr}${printableLines(errorMessage(error))}\n` }
  } finally {
    vi.restoreAllMocks()
    vi.unstubAllEnvs()
  }
}

async function importCsv(
  name: string,
  content: string | Buffer,
  importFile = (path: string) => call(() => admin.import(path)),
): Promise<Outcome & { report: string }> {
  const path = join(folder, name)
  await writeFile(path, content)
  const outcome = await importFile(path)
  return { ...outcome, report: await readFile(`${path}.refused.csv`, 'utf8').catch(() => '') }
}

const users = () => createUserRepository(database.db)
const find = (username: string) => users().findByLogin('username', username)

async function aUser(username: string): Promise<string> {
  return users().insert({ username, email: `${username}@example.com`, passwordHash: SHA1, role: 'user' })
}

async function isPasswordOf(username: string, password: string): Promise<boolean> {
  const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 10 })
  try {
    return (await passwords.verify(password, (await find(username))?.passwordHash)).matches
  } finally {
    await passwords.close()
  }
}

describe('Users::create', () => {
  it('prints a generated password once, which is the password', async () => {
    const { code, stdout } = await call(() => admin.create('gen', 'gen@example.com', 'Ada Ü', 'admin'))
    expect(code).toBe(0)
    const [, password = ''] = /^Password: (\S+)$/m.exec(stdout) ?? []
    expect(await isPasswordOf('gen', password)).toBe(true)
    expect(await find('gen')).toMatchObject({ email: 'gen@example.com', name: 'Ada Ü', role: 'admin' })
  })

  it('reads the password from standard input and does not print it', async () => {
    const args = ['Users::create', 'typed', 'typed@example.com', '', '', '-']
    const { code, stdout, stderr } = await run(args, { input: `${PASSWORD}\n` })
    expect(code).toBe(0)
    expect(stdout + stderr).not.toContain(PASSWORD)
    expect(await isPasswordOf('typed', PASSWORD)).toBe(true)
  })

  it('names every fault in one line, and never the password', async () => {
    await aUser('first')
    const { code, stderr } = await call(() =>
      admin.create('FIRST', 'a@b@c', 'x\u001b[2J', 'r'.repeat(51), 'short'),
    )
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    for (const fault of ['username is already', 'email must', 'name must not', 'role must', 'at least 12'])
      expect(stderr).toContain(fault)
    expect(stderr).not.toContain('short')
  })
})

describe('a user', () => {
  it('is shown by username, e-mail and userid, without the hash and internal properties', async () => {
    const userid = await aUser('shown')
    await users().setProperty(userid, VALID_FROM_PROPERTY, '5')
    await users().setProperty(userid, 'picture', 'a\u001b[2Jb')
    for (const login of ['SHOWN', 'shown@example.com', userid.toUpperCase()]) {
      const { code, stdout } = await call(() => admin.show(login))
      expect(code).toBe(0)
      expect(stdout).toContain(userid)
      expect(stdout).toContain('a\\x1b[2Jb')
      expect(stdout).not.toContain(SHA1)
      expect(stdout).not.toContain(VALID_FROM_PROPERTY)
    }
  })

  it('is listed among so many, and with a line where there are none', async () => {
    await aUser('listed-1')
    await aUser('listed-2')
    const { stdout, stderr } = await call(() => admin.list('', '1'))
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect(stderr).toContain('more than these 1')
    expect((await call(() => admin.list('nobody at all'))).stdout).toContain('No user')
    expect((await call(() => admin.list('', '0'))).code).toBe(1)
  })

  it.each([
    { what: 'a new role', change: () => admin.setRole('mark-1', 'admin'), username: 'mark-1' },
    { what: 'a new password', change: () => admin.setPassword('mark-2'), username: 'mark-2' },
    { what: 'a revocation', change: () => admin.revoke('mark-3'), username: 'mark-3' },
    { what: 'a deletion', change: () => admin.delete('mark-4'), username: 'mark-4' },
    { what: 'a logout', change: () => admin.logout('mark-5'), username: 'mark-5' },
  ])('loses its tokens by $what', async ({ change, username }) => {
    await aUser(username)
    const before = Math.floor(Date.now() / 1000)
    expect((await call(change)).code).toBe(0)
    const user = await find(username)
    expect(user && validFromOf(user)).toBeGreaterThan(before)
  })

  it('has a pending e-mail until its code ends', async () => {
    await aUser('mover')
    expect((await call(() => admin.pendingEmail('mover'))).stdout).toContain('no pending change of e-mail')
    const { userid = '' } = (await find('mover')) ?? {}
    const insert = {
      name: 'test-insert-change',
      text: `insert into email_change (id, userid, email, code_hash, created_at, expires_at)
        values ($1, $2, $3, $4, $5, $6)`,
    }
    const { db } = database
    const insertChange = (email: string, endsInMs: number) => {
      const ids = [db.toUuidValue(crypto.randomUUID()), db.toUuidValue(userid)]
      const [requestedAt, expiresAt] = [new Date(Date.now() - 1_000), new Date(Date.now() + endsInMs)]
      return db.execute(insert, [...ids, email, 'a'.repeat(64), requestedAt, expiresAt])
    }
    await insertChange('expired@example.com', -500)
    expect((await call(() => admin.pendingEmail('mover'))).stdout).toContain('no pending change of e-mail')
    await insertChange('moved@example.com', 600_000)
    const { stdout } = await call(() => admin.pendingEmail('mover@example.com'))
    expect(stdout).toContain('change the e-mail to moved@example.com; the code ends at')
    expect((await call(() => admin.pendingEmail('nobody'))).code).toBe(1)
  })

  it('is told by mail when an admin changes the role', async () => {
    await aUser('told')
    const { db } = database
    const find = { name: 'test-outbox', text: "select payload from mail_outbox where payload like '%told@%'" }
    const env = { MAIL_SECRET: randomBytes(32).toString('base64') }
    await call(() => admin.setRole('told', 'user'), { env: { ...env, NOTICE_ROLES_CHANGED: 'off' } })
    expect(await db.query(find)).toEqual([])
    expect((await call(() => admin.setRole('told', 'admin'), { env })).stderr).toBe('')
    const [mail] = await db.query<{ payload: string }>(find)
    expect(JSON.parse(mail?.payload ?? '')).toMatchObject({
      to: 'told@example.com',
      template: 'roles-changed',
    })
  })

  it('gets no mail without MAIL_SECRET, and the admin is told', async () => {
    const { stderr } = await call(() =>
      database.db.transaction((transaction) =>
        createNotify({})(transaction, ada(), { template: 'roles-changed', role: 'admin' }, undefined),
      ),
    )
    expect(stderr).toContain('MAIL_SECRET is not set')
  })

  it('has an audit trail of what admins did', async () => {
    await aUser('watched')
    expect((await call(() => audit.tail('watched'))).stdout).toContain('No event of this user is recorded')
    await call(() => admin.setRole('watched', 'admin'))
    await call(() => admin.delete('watched'))
    const { stdout } = await call(() => audit.tail('watched@example.com', '2'))
    expect(stdout).toMatch(/role\.changed +1 +admin\n.*account\.deleted +1 +admin\n/)
    expect((await call(() => audit.tail('watched', 'all'))).stderr).toContain('limit')
    expect((await call(() => audit.tail('nobody'))).code).toBe(1)
  })

  it('keeps its password and its tokens when a new password breaks the policy', async () => {
    await aUser('steady')
    expect((await call(() => admin.setPassword('steady', 'short'))).code).toBe(1)
    expect(await find('steady')).toMatchObject({ passwordHash: SHA1, properties: [] })
  })

  it('is deleted and restored, each once', async () => {
    await aUser('lazarus')
    expect((await call(() => admin.delete('lazarus@example.com'))).code).toBe(0)
    expect((await find('lazarus'))?.deletedAt).toBeInstanceOf(Date)
    expect((await call(() => admin.delete('lazarus'))).stderr).toContain('deleted already')
    expect((await call(() => admin.restore('lazarus'))).code).toBe(0)
    expect((await find('lazarus'))?.deletedAt).toBeNull()
    expect((await call(() => admin.restore('lazarus'))).code).toBe(1)
  })

  it('is named in letters only, whatever an adopted table has', async () => {
    const userid = await users().insert({ username: 'a\u001b[2J\u202eb', passwordHash: SHA1 })
    const outcomes = [
      await call(() => admin.restore(userid)),
      await call(() => admin.delete(userid)),
      await call(() => admin.delete(userid)),
      await call(() => admin.list()),
      await call(() => admin.show(userid)),
    ]
    for (const { stdout, stderr } of outcomes) {
      expect(stdout + stderr).toContain('a\\x1b[2J\\u202eb')
      for (const raw of ['\u001b', '\u202e']) expect(stdout + stderr).not.toContain(raw)
    }
  })

  it('is not found by the username of one user that is the e-mail of another', async () => {
    const userid = await aUser('twin@example.com')
    const other = await aUser('twin')
    const { code, stderr } = await call(() => admin.revoke('Twin@example.com'))
    expect([code, stderr]).toEqual([
      1,
      `"Twin@example.com" is the username of ${userid} and the e-mail of ${other}; give the userid\n`,
    ])
    expect(await find('twin')).toMatchObject({ properties: [] })
  })

  it('gets a role that no route requires only when that is meant', async () => {
    await aUser('typist')
    const misspelt = await call(() => admin.setRole('typist', 'admn'))
    expect(misspelt.code).toBe(1)
    // An extension beside this test may declare further roles.
    expect(misspelt.stderr).toMatch(
      /The role was not set: role must be one that a route requires: admin(,| and) user.*; to set it anyway, add --arg --force/,
    )
    expect(await find('typist')).toMatchObject({ role: 'user', properties: [] })
    expect((await call(() => admin.setRole('typist', 'admn', 'force'))).code).toBe(1)
    expect((await call(() => admin.setRole('typist', 'admn', '--force'))).code).toBe(0)
    expect((await find('typist'))?.role).toBe('admn')
    expect((await call(() => admin.setRole('typist', ''))).code).toBe(0)
  })

  it('gets and loses a property', async () => {
    await aUser('owner')
    expect((await call(() => admin.setProperty('owner', 'colour', 'blue'))).code).toBe(0)
    expect((await call(() => admin.setProperty('owner', 'colour', 'grün'))).code).toBe(0)
    expect((await find('owner'))?.properties).toEqual([{ name: 'colour', value: 'grün' }])
    expect((await call(() => admin.setProperty('owner', 'colour', ''))).code).toBe(0)
    expect((await find('owner'))?.properties).toEqual([])
  })

  it('that does not exist is reported in one line', async () => {
    const { code, stderr } = await run(['Users::show', 'ghost'])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr:
        'No user has the username, e-mail or userid "ghost"; Users::list lists the users (more: --trace)\n',
    })
  })
})

describe('Users::import', () => {
  it('takes hashes and clear passwords, a byte order mark, CRLF and quoted line ends', async () => {
    const { code, stdout, report } = await importCsv(
      'good.csv',
      `\ufeffusername,email,name,role,password,password_hash,property:note\r\nimp1,imp1@x.org,"Ü, ""1""",admin,,${SHA1.toUpperCase()},"two\r\nlines"\r\nimp2,imp2@x.org,,,${PASSWORD},,\r\n\r\nimp3,imp3@x.org,,,,"${ARGON2ID}",`,
      (path) => run(['Users::import', path]),
    )
    expect({ code, stdout, report }).toEqual({
      code: 0,
      stdout:
        'Imported 3, already there 0, refused 0.\npassword argon2id: 1, password in clear: 1, password sha1: 1\n',
      report: '',
    })
    expect(await find('imp1')).toMatchObject({
      name: 'Ü, "1"',
      role: 'admin',
      passwordHash: SHA1,
      properties: [{ name: 'note', value: 'two\nlines' }],
    })
    expect(await isPasswordOf('imp2', PASSWORD)).toBe(true)
    expect((await find('imp3'))?.passwordHash).toBe(ARGON2ID)
  })

  it('refuses each bad line with number, field and reason, and takes the others', async () => {
    await aUser('holder')
    const lines = [
      'username,email,password,password_hash',
      `r-ok1,r-ok1@x.org,,${SHA1}`,
      'r-weak,r-weak@x.org,hunter2,',
      `R-OK1,r-other@x.org,,${SHA1}`,
      `r-ok2,r-ok2@x.org,,${SHA1}`,
      `,,,${SHA1}`,
      'r-few,r-few@x.org',
      `r-both,r-both@x.org,${PASSWORD},${SHA1}`,
      'r-none,r-none@x.org,,',
      `r-huge,r-huge@x.org,,"${ARGON2ID.replace('m=19456', 'm=4194304')}"`,
      `r-no-mail,,,${SHA1}`,
      `r-mail,not an address,,${SHA1}`,
      `holder,r-else@x.org,,${SHA1}`,
      `r-ok3,r-ok3@x.org,,${SHA1}`,
    ]
    const { code, stdout, stderr, report } = await importCsv('mixed.csv', lines.join('\n'))
    expect(code).toBe(1)
    expect(stdout).toContain('Imported 4, already there 0, refused 9.\nWithout an e-mail: 1.')
    const reported = new Set(
      report
        .trim()
        .split('\n')
        .slice(1)
        .map((row) => row.split(',', 2).join()),
    )
    expect([...reported]).toEqual([
      '3,"password"',
      '4,"username"',
      '6,"username"',
      '7,"line"',
      '8,"password"',
      '9,"password"',
      '10,"password_hash"',
      '12,"email"',
      '13,"username"',
    ])
    expect(report + stdout + stderr).not.toContain('hunter2')
    for (const username of ['r-ok1', 'r-ok2', 'r-no-mail', 'r-ok3'])
      expect(await find(username)).toBeDefined()
  })

  it('refuses a file that cannot be used before anything is written', async () => {
    const lines = ['username,email,password_hash', `early,early@x.org,${SHA1}`, `\xe9,e@x.org,${SHA1}`]
    const { code, stderr } = await importCsv('unusable.csv', Buffer.from(lines.join('\n'), 'latin1'))
    expect(code).toBe(1)
    expect(stderr).toContain('line 3')
    expect(await find('early')).toBeUndefined()
  })
})

describe('Queue', () => {
  it('counts, lists and retries mails that failed, and shows neither address nor content', async () => {
    expect((await call(() => migrations.up())).code).toBe(0)
    await addFailedMails(['one', 'two', 'three'])
    expect((await call(() => queue.status())).stdout).toMatch(/^queue +mail-[0-9a-f]{12}\n[\s\S]*failed +3/)
    const { stdout } = await call(() => queue.failed())
    expect(stdout).toMatch(
      /one +password-reset +o\*\*\*@example\.com +1 +\S+ +550 <o\*\*\*@example.com> is unknown/,
    )
    expect(stdout).not.toContain('sealed.')
    expect((await call(() => queue.retry('one'))).stdout).toBe('1 mail is tried again.\n')
    expect((await call(() => queue.retry('one'))).code).toBe(1)
    expect((await call(() => queue.retry('all'))).stdout).toBe('2 mails are tried again.\n')
    expect((await call(() => queue.status())).stdout).toMatch(/waiting +3[\s\S]*failed +0/)
    expect((await call(() => queue.failed())).stdout).toBe('No mail has failed.\n')
  })

  it.each(['redis', 'postgres'])('says in one line which %s server does not answer', async (kind) => {
    const { code, stderr } = await call(() => queue.status(), {
      env: { QUEUE_URL: `${kind}://latchkey:hidden@127.0.0.1:1/0` },
    })
    expect(code).toBe(1)
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('The queue at 127.0.0.1:1 (QUEUE_URL) cannot be reached: connect ECONNREFUSED')
    expect(stderr).not.toContain('hidden')
  })
})

async function addFailedMails(ids: readonly string[]): Promise<void> {
  const readInstallation = createReadInstallation(database.db)
  const queue = openMailQueue(database.url, { readInstallation })
  for (const id of ids) {
    await queue.add(id, aMailJob({ to: `${id}@example.com`, variables: 'sealed.a.b.c.d' }))
  }
  const { worker, close } = openBullWorker<{ to: string }>(
    database.url,
    nameQueue(database.url, await readInstallation()),
    async ({ data }) => {
      throw new UnrecoverableError(`550 <${data.to}> is unknown`)
    },
    { autorun: false },
    () => undefined,
  )
  const isRunning = worker.run()
  await expect.poll(async () => (await queue.counts()).failed).toBe(ids.length)
  await close()
  await isRunning
  await queue.close()
}

describe('an unavailable database', () => {
  it.each([
    { protocol: 'postgres', method: 'Users::list', list: () => admin.list() },
    { protocol: 'mysql', method: 'Users::list', list: () => admin.list() },
    { protocol: 'mariadb', method: 'Migrations::status', list: () => migrations.status() },
  ])('($protocol) is named by $method, with what the system says', async ({ protocol, list }) => {
    const { code, stderr } = await call(list, {
      env: { DATABASE_URL: `${protocol}://latchkey:hidden@127.0.0.1:1/latchkey` },
    })
    expect(code).toBe(1)
    expect(stderr).toBe(
      'The database at 127.0.0.1:1 (DATABASE_URL) cannot be reached: connect ECONNREFUSED 127.0.0.1:1\n',
    )
  })
})

describe('the other classes', () => {
  it('generate a secret of the given length', async () => {
    const generate = (bytes?: string) => call(async () => new Secrets().generate(bytes))
    expect(Buffer.from((await generate('48')).stdout, 'base64')).toHaveLength(48)
    expect(Buffer.from((await generate()).stdout, 'base64')).toHaveLength(64)
    expect((await generate('1e3')).code).toBe(1)
  })

  it('say how a database differs, what --adopt would do, and refuse an option that does not exist', async () => {
    await using own = await createEmptyDatabase()
    await own.db.runScript(olderSchema('plain indexes'))
    const env = { DATABASE_URL: own.url, QUEUE_URL: '' }
    const status = await call(() => migrations.status(), { env })
    expect(status.stdout).toMatch(
      /0001_users +pending[\s\S]*users\.email has no unique index\n {2}A user can take/,
    )
    expect(status).toMatchObject({
      code: 1,
      stderr: 'Migrations refuse to run on this database. Number of differences: 2\n',
    })

    const plan = await call(() => migrations.up('--adopt', '--dry-run'), { env })
    expect(plan.stdout).toMatch(
      /^-- users\.email has no unique index\n(create|alter) [^;]*unique index[^;]+;\n/,
    )
    expect(plan.stdout).toContain('-- then the migration 0001_users\n')
    expect((await call(() => migrations.up('--adopt=yes'), { env })).stderr).toBe(
      'Migrations::up knows --adopt and --dry-run, not --adopt=yes\n',
    )
    expect((await createMigrator(own.db).status()).every(({ appliedAt }) => appliedAt === undefined)).toBe(
      true,
    )
  })

  it('list the migrations', async () => {
    const { code, stdout } = await call(() => migrations.status(), { env: { QUEUE_URL: '' } })
    expect(code).toBe(0)
    expect(stdout).toMatch(/0001_users +\d{4}-/)
  })
})
