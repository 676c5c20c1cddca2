import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Database } from '@latchkey/shared/database/database.ts'
import { openDatabase } from '@latchkey/shared/database/dialects.ts'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import type { SharedServer } from '@latchkey/test-support/servers/shared-servers.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runInProcess } from './run-in-process.ts'
import { hasDocker, MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

const CTRL_C = '\x03'
const PRELOAD = ['--preload', 'templates/scriptify/scriptify.ts']
const MYSQL_TEXTS = String.raw`select 'it\'s :role' as one, "\":role" as two, :role as three`

const execute = async (script: string, env: NodeJS.ProcessEnv) => {
  const words = ['terminal', '--runtime', 'node', '--rootdir', ROOT, ...PRELOAD, '--execute', script]
  return runInProcess(words, { env: { ...process.env, ...env } })
}

it('the node terminal does not connect to MySQL in clear where its address asks for TLS', async () => {
  const script = `
    for (const option of ['ssl-mode=REQUIRED', 'useSSL=true', 'sslmode=prefer']) {
      process.env.DATABASE_URL = 'mysql://me:secret@127.0.0.1:1/latchkey?' + option
      await qq('select 1').catch(({ message }) => console.log(message))
    }`
  const message = 'DATABASE_URL must have sslmode=disable, require, verify-ca or verify-full\n'
  expect(await execute(script, {})).toEqual({ code: 0, stdout: message.repeat(3), stderr: '' })
})

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

  it('shows and gives what the server has, whatever its style and zone', async () => {
    const [type, zone, before] =
      engine === 'PostgreSQL'
        ? ['timestamptz', '+00', '']
        : ['timestamp', '', `await executor.execute("set sql_mode = ''")`]
    const script = `
      ${before}
      await qq("select 'a' as name, 'b' as name, date '2026-03-01' as day, date '${day}' as odd, timestamp '2026-03-01 00:30:00' as moment, 9007199254740993 as big")
      await qq(${JSON.stringify(texts)}, { role: 'admin' })
      console.log(await executor.query("select 1 as one, :v as two", { v: 'é' }))
      console.log(await executor.query("select ${type} '2026-03-01 00:30:00${zone}' as moment"))
      console.log(await executor.query("select 9007199254740993 as big, 7 as small"))
      qq('select nope from users_nope')`
    // It runs east of the server.
    const { code, stdout, stderr } = await execute(script, { TZ: 'Europe/Berlin', DATABASE_URL: url })
    expect(stdout).toMatch(
      /^name \| name \| day +\| odd +\| moment +\| big *\n[-+]+\na +\| b +\| 2026-03-01 \| (infinity|0000-00-00) +\| 2026-03-01 00:30:00 \| 9007199254740993\n1 row/m,
    )
    expect(stdout).toMatch(shows)
    expect(stdout).toContain("[ { one: 1, two: 'é' } ]\n[ { moment: 2026-03-01T00:30:00.000Z } ]\n")
    expect(stdout).toMatch(/^\[ \{ big: '9007199254740993', small: 7 \} \]$/m)
    // Nothing of the driver.
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/^[eE]rror: .*users_nope.*\n$/),
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
    /** True while the server runs the query. */
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
