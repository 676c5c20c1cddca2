import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { MariaDbContainer } from '@testcontainers/mariadb'
import { MySqlContainer } from '@testcontainers/mysql'
import { describe, expect, it } from 'vitest'
import { postgresContainer } from '../../test/support/postgres-container.ts'
import { hasDocker, MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

const CTRL_C = '\x03'

describe.skipIf(!(await hasDocker())).each([
  {
    engine: 'PostgreSQL',
    start: async () => {
      const server = await postgresContainer().start()
      return { url: server.getConnectionUri(), [Symbol.asyncDispose]: async () => void (await server.stop()) }
    },
    sleep: 'select pg_sleep(4)',
  },
  {
    engine: 'MySQL',
    start: async () => {
      const server = await new MySqlContainer('mysql:9').start()
      return { url: server.getConnectionUri(), [Symbol.asyncDispose]: async () => void (await server.stop()) }
    },
    sleep: 'select sleep(4)',
  },
  {
    engine: 'MariaDB',
    start: async () => {
      const server = await new MariaDbContainer('mariadb:11.8').start()
      return { url: server.getConnectionUri(), [Symbol.asyncDispose]: async () => void (await server.stop()) }
    },
    sleep: 'select sleep(4)',
  },
])('the node terminal on $engine', ({ start, sleep }) => {
  it('answers each query with its own rows, whatever ended the one before', {
    timeout: 180_000,
  }, async () => {
    await using database = await start()
    await using terminal = startTypist(
      process.execPath,
      [MAIN, 'terminal', '--runtime', 'node', '--preload', 'templates/scriptify/scriptify.ts'],
      {
        prompt: /node[>*] /,
        cwd: ROOT,
        env: {
          XDG_STATE_HOME: mkdtempSync(join(tmpdir(), 'scriptify-state-')),
          NO_COLOR: '1',
          DATABASE_URL: database.url,
        },
      },
    )
    await terminal.see(/node> $/)
    expect(await terminal.enter("qq('select 1 as one, null as nothing, :v as given', { v: 'é' })")).toMatch(
      /one \| nothing \| given\n-+\S*\n1 +\| NULL +\| é\n1 row\(s\)/,
    )
    await terminal.enter('const kept = 41')
    const answers = async (number: number) => {
      expect(await terminal.enter(`qq('select ${number} as answer')`)).toMatch(
        new RegExp(`answer\\n-+\\n${number}\\n`),
      )
      expect(await terminal.enter('kept + 1')).toContain('=> 42')
    }
    await answers(2)
    const interrupt = async (line: string, times: number) => {
      terminal.type(`${line}\r`)
      await pause(700)
      for (let time = 0; time < times; time++) {
        terminal.type(CTRL_C)
        await pause(200)
      }
      await terminal.see(/node> $/)
    }
    await interrupt(`qq('${sleep}')`, 1)
    await answers(3)
    await interrupt(`const rows = await executor.query('${sleep}')`, 1)
    await answers(4)
    // The first is caught by the loop's own code, the second stops it by force.
    await interrupt(`qq('${sleep}'); for (;;) { try { for (;;); } catch {} }`, 2)
    await answers(5)
    for (const [index, line] of [
      `void qq('${sleep}'); process.exit(3)`,
      `void qq('${sleep}'); process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})`,
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
