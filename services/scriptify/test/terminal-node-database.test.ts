import { execFile } from 'node:child_process'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sharedServer } from '../../test/servers/shared-server.ts'
import type { SharedServer } from '../../test/servers/shared-servers.ts'
import { hasDocker, MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

const CTRL_C = '\x03'
const PRELOAD = ['--preload', 'templates/scriptify/scriptify.ts']
const MYSQL_TEXTS = String.raw`select 'it\'s :role' as one, "\":role" as two, :role as three`

it.each(['ssl-mode=REQUIRED', 'useSSL=true', 'sslmode=prefer'])(
  'the node terminal does not connect to MySQL in clear where its address says %s',
  async (option) => {
    const url = `mysql://me:secret@127.0.0.1:1/latchkey?${option}`
    const args = [MAIN, 'terminal', '--runtime', 'node', ...PRELOAD, '--execute', "qq('select 1')"]
    const env = { ...process.env, DATABASE_URL: url }
    await expect(promisify(execFile)(process.execPath, args, { cwd: ROOT, env })).rejects.toMatchObject({
      stderr: expect.stringContaining('DATABASE_URL must have sslmode=disable, require'),
    })
  },
)

describe.skipIf(!(await hasDocker())).each<{
  engine: string
  server: SharedServer
  sleep: string
  sleeping: string
  day: string
  texts: string
  shows: RegExp
}>([
  {
    engine: 'PostgreSQL',
    server: 'postgres',
    sleep: 'select pg_sleep',
    sleeping: `select pid from pg_stat_activity where state = 'active' and query like $1`,
    day: 'infinity',
    texts: String.raw`select 'a' like 'b' escape '\' as one, '12:30' as two, :role as three, (array[4, 5])[1:n] as four, :role::varchar(3) as five from (values (1)) as v(n) -- :none`,
    shows: /one +\| two +\| three +\| four +\| five\n.*\nfalse \| 12:30 \| admin +\| \{4\} +\| adm\n/,
  },
  {
    engine: 'MySQL',
    server: 'mysql',
    sleep: 'select sleep',
    sleeping: `select id from information_schema.processlist where info like $1`,
    day: '0000-00-00',
    texts: MYSQL_TEXTS,
    shows: /one +\| two +\| three\n.*\nit's :role \| ":role \| admin\n/,
  },
  {
    engine: 'MariaDB',
    server: 'mariadb',
    sleep: 'select sleep',
    sleeping: `select id from information_schema.processlist where info like $1`,
    day: '0000-00-00',
    texts: MYSQL_TEXTS,
    shows: /one +\| two +\| three\n.*\nit's :role \| ":role \| admin\n/,
  },
])('the node terminal on $engine', ({ engine, server, sleep, sleeping, day, texts, shows }) => {
  let url = ''
  let observer: Database
  beforeAll(async () => {
    url = await sharedServer(server)
    observer = await openDatabase(url, { poolSize: 1 })
  })
  afterAll(() => observer?.close())

  /** What the statements print, east of the server. */
  const print = async (...statements: string[]) => {
    const words = [MAIN, 'terminal', '--runtime', 'node', ...PRELOAD, '--execute', statements.join('\n')]
    const env = { ...process.env, TZ: 'Europe/Berlin', DATABASE_URL: url }
    return (await promisify(execFile)(process.execPath, words, { cwd: ROOT, env })).stdout
  }

  it('shows each column, and dates and numbers as the server has them', async () => {
    const shown = await print(
      ...(engine === 'PostgreSQL' ? [] : [`await executor.execute("set sql_mode = ''")`]),
      `qq("select 'a' as name, 'b' as name, date '2026-03-01' as day, date '${day}' as odd, timestamp '2026-03-01 00:30:00' as moment, 9007199254740993 as big")`,
    )
    expect(shown).toMatch(
      /^name \| name \| day +\| odd +\| moment +\| big *\n[-+]+\na +\| b +\| 2026-03-01 \| (infinity|0000-00-00) +\| 2026-03-01 00:30:00 \| 9007199254740993\n1 row/m,
    )
  })

  it('gives rows by the names of their columns, with the values of the driver', async () => {
    expect(await print(`await executor.query("select 1 as one, :v as two", { v: 'é' })`)).toBe(
      "[ { one: 1, two: 'é' } ]\n",
    )
  })

  it('reads a time as it is, whatever style and zone the server has', async () => {
    const type = engine === 'PostgreSQL' ? 'timestamptz' : 'timestamp'
    const zone = engine === 'PostgreSQL' ? '+00' : ''
    const moment = `${type} '2026-03-01 00:30:00${zone}'`
    expect(await print(`await executor.query("select ${moment} as moment")`)).toBe(
      '[ { moment: 2026-03-01T00:30:00.000Z } ]\n',
    )
  })

  it('gives every digit of a number that JavaScript cannot hold', async () => {
    expect(await print('await executor.query("select 9007199254740993 as big, 7 as small")')).toMatch(
      /^\[ \{ big: '9007199254740993', small: 7 \} \]\n$/,
    )
  })

  it('says what the server says of a statement that fails, and nothing of the driver', async () => {
    const failing = print("qq('select nope from users_nope')")
    await expect(failing).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^[eE]rror: .*users_nope.*\n$/),
    })
    await expect(failing).rejects.not.toMatchObject({
      stderr: expect.stringMatching(/node_modules|undefined|Parser/),
    })
  })

  it('puts values in the place of parameters only', async () => {
    expect(await print(`qq(${JSON.stringify(texts)}, { role: 'admin' })`)).toMatch(shows)
  })

  describe('with a table', () => {
    const table = 'scriptify_guarded'
    const rows = async () =>
      (await observer.query({ name: 'rows', text: `select id from ${table}` }, [])).length
    beforeAll(() => observer.runScript(`create table ${table} (id int primary key)`))
    afterAll(() => observer.runScript(`drop table ${table}`))

    const runTerminal = (args: string[], env: Record<string, string>, script: string) =>
      promisify(execFile)(
        process.execPath,
        [MAIN, 'terminal', '--runtime', 'node', ...PRELOAD, ...args, '--execute', script],
        { cwd: ROOT, env: { ...process.env, DATABASE_URL: url, ...env } },
      )

    it('rolls back what a sandbox writes, also after an error, and lets nothing commit', async () => {
      const script = `
        await executor.execute('insert into ${table} values (1)')
        await executor.query('select nope from ${table}').catch(() => console.log('failed'))
        for (const sql of ['commit', '/* a */ Begin', 'rollback', '/*! commit */'])
          await executor.execute(sql).catch(({ message }) => console.log(message))
        qq('select count(*) as here from ${table}')`
      const { stdout } = await runTerminal(['--sandbox'], {}, script)
      expect(stdout).toMatch(
        /^failed\n(The sandbox runs no .*: it could not be rolled back\n){4}here\n-+\n1\n/,
      )
      expect(await rows()).toBe(0)
    })

    it.runIf(engine === 'PostgreSQL')(
      'writes in production only with --write, or by the executor',
      async () => {
        const [env, script] = [
          // Only the option allows it.
          { APP_ENV: 'prod', SCRIPTIFY_WRITE: '1' },
          `qq('with a as (select 1) insert into ${table} values (2)')`,
        ]
        const plain = `qq("insert into ${table} values (2)")`
        await expect(runTerminal([], env, plain)).rejects.toMatchObject({
          code: 1,
          stderr: expect.stringContaining('allow it with terminal --write'),
        })
        await expect(runTerminal([], env, script)).rejects.toMatchObject({ code: 1 })
        expect(await rows()).toBe(0)
        await runTerminal([], env, `qq("select 'insert', id from ${table}")`)
        await expect(runTerminal([], env, 'qq("vacuum")')).rejects.toMatchObject({ code: 1 })
        await runTerminal(['--write'], env, plain)
        expect(await rows()).toBe(1)
        await runTerminal([], env, `qq("select 1"); await executor.execute("delete from ${table}")`)
        expect(await rows()).toBe(0)
      },
    )

    it('asks once in a session of production, and shows tables', async () => {
      await using terminal = startTypist(
        process.execPath,
        [MAIN, 'terminal', '--runtime', 'node', '--no-history', ...PRELOAD],
        { prompt: /node[>*] /, cwd: ROOT, env: { NO_COLOR: '1', DATABASE_URL: url, APP_ENV: 'prod' } },
      )
      await terminal.see(/node> $/)
      const before = await rows()
      terminal.type(`qq('insert into ${table} values (3)')\r`)
      await terminal.see('Write in this session? (yes/no)')
      terminal.type('no\r')
      await terminal.see(/Nothing was written[\s\S]*node> $/)
      expect(await rows()).toBe(before)
      terminal.type(`qq('insert into ${table} values (3)')\r`)
      await terminal.see('Write in this session? (yes/no)')
      terminal.type('yes\r')
      await terminal.see(/1 row\(s\) changed[\s\S]*node> $/)
      expect(await terminal.enter(`qq('insert into ${table} values (4)')`)).toContain('1 row(s) changed')
      expect(await terminal.enter('.db')).toMatch(
        new RegExp(`table +\\| columns\\n(.*\\n)*${table} +\\| 1\\n`),
      )
      expect(await terminal.enter(`.db ${table}`)).toMatch(
        new RegExp(`id +\\| int(eger)? +\\| NO[\\s\\S]*rows\\n-+\\n${before + 2}\\n`),
      )
      expect(await terminal.enter('.db nothing')).toContain('There is no table nothing')
    })
  })

  it('answers each query with its own rows, whatever ended the one before', {
    timeout: 180_000,
  }, async () => {
    await using terminal = startTypist(
      process.execPath,
      [MAIN, 'terminal', '--runtime', 'node', ...PRELOAD],
      {
        prompt: /node[>*] /,
        cwd: ROOT,
        env: {
          XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'scriptify-state-')),
          NO_COLOR: '1',
          DATABASE_URL: url,
        },
      },
    )
    await terminal.see(/node> $/)
    expect(await terminal.enter("qq('select 1 as one, null as nothing, :v as given', { v: 'é' })")).toMatch(
      /one \| nothing \| given\n-+\S*\n1 +\| NULL +\| é\n1 row\(s\)/,
    )
    await terminal.enter('const kept = 41')
    const answers = async (number: number) => {
      const shown = await terminal.enter(`qq('select ${number} as answer')`)
      expect(shown).toMatch(new RegExp(`answer\\n-+\\n${number}\\n`))
      expect(shown).not.toContain('continued')
      expect(await terminal.enter('kept + 1')).toContain('=> 42')
    }
    /** Whether the server runs the query. */
    const isRunning = async (query: string) =>
      (await observer.query({ name: 'sleeping', text: sleeping }, [`${query}%`])).length > 0
    await answers(2)
    // Ctrl-C ends the query on the server as well, and what waits for its answer does not continue.
    for (const [index, line] of [
      `void executor.query('${sleep}(601)').finally(() => console.log('conti' + 'nued')); qq('select 1')`,
      `const rows = await executor.query('${sleep}(602)').finally(() => console.log('conti' + 'nued'))`,
    ].entries()) {
      const query = `${sleep}(${601 + index})`
      terminal.type(`${line}\r`)
      await expect.poll(() => isRunning(query)).toBe(true)
      terminal.type(CTRL_C)
      expect(await terminal.see(/Interrupted\s+node> $/)).not.toContain('continued')
      await expect.poll(() => isRunning(query)).toBe(false)
      await answers(3 + index)
    }
    terminal.type(
      `qq('${sleep}(4)'); setTimeout(() => { console.log("be" + "gun"); for (;;); }); await new Promise(() => {})\r`,
    )
    await terminal.see('begun')
    terminal.type(CTRL_C)
    await terminal.see(/Interrupted\s+node> $/)
    await answers(5)
    for (const [index, line] of [
      `void qq('${sleep}(4)'); process.exit(3)`,
      `void qq('${sleep}(4)'); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})`,
    ].entries()) {
      terminal.type(`${line}\r`)
      await terminal.see(/(was called|ended the process)[\s\S]*node> $/)
      await answers(6 + index)
    }
    expect(
      await terminal.enter("uuid_to_bin('{0190A1B2-0000-7000-8000-000000000001}').toString('hex')"),
    ).toContain('0190a1b200007000')
  })
})
