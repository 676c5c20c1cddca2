import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { drawScreen, textOf } from '../../../scripts/docs/screen-svg.ts'
import { createEmptyDatabase } from '../../auth-api/test/support/test-database.ts'
import { hasDocker, MAIN, ROOT, startPhpMachine } from './terminal-docker.ts'
import { startTypist, type Typist } from './terminal-pty.ts'

// The pictures in docs/images/: `npm run docs:terminal` takes them.
const COLUMNS = 92
const CTRL_C = '\x03'

const TABLE = `
  create table users (username varchar(20), email varchar(40), role varchar(10));
  insert into users values ('ada', 'ada@example.com', 'admin'), ('grace', 'grace@example.com', 'admin'), ('alan', 'alan@example.com', null);`

it.skipIf(!(await hasDocker()))('looks as docs/images/terminal-typescript.svg shows', async () => {
  await using database = await createEmptyDatabase('postgres')
  await database.db.runScript(TABLE)
  const args = [
    MAIN,
    'terminal',
    '--runtime',
    'node',
    '--preload',
    'templates/scriptify/scriptify.ts',
    '--no-history',
  ]
  await using terminal = startTypist(process.execPath, args, {
    prompt: /node[>*] /,
    cwd: ROOT,
    env: { DATABASE_URL: database.url, NO_COLOR: '', FORCE_COLOR: '1' },
  })
  const shown = await record(terminal, async () => {
    await terminal.enter(`qq('select * from users where role = :role', { role: 'admin' })`)
    await terminal.enter(`const users = await executor.query('select * from users');`)
    await terminal.enter(`interface User { username: string, role: string | null }`)
    await terminal.enter(`users.filter(({ role }: User) => role === null)`)
    terminal.type(`dump(users.length); while (true) {}\r`)
    await terminal.see(/\n3\r?\n/)
    terminal.type(CTRL_C)
    await terminal.see(/node> $/)
    await terminal.enter(`users.map(({ username }) => username)`)
  })
  await expectPicture('terminal-typescript', shown, 'A session of scriptify’s terminal in TypeScript')
})

it.skipIf(!(await hasDocker()))('looks as docs/images/terminal-php.svg shows', async () => {
  const machine = await startPhpMachine()
  await using _ = { [Symbol.asyncDispose]: async () => void (await machine.stop()) }
  const docker = ['exec', '-it', '-e', 'TERM=xterm-256color', machine.getId(), 'node', MAIN]
  const args = [...docker, 'terminal', '--runtime', 'php', '--no-history']
  await using terminal = startTypist('docker', args, { prompt: /php[>*] /, cwd: ROOT })
  const shown = await record(terminal, async () => {
    await terminal.enter('use DateTimeImmutable as Day;')
    await terminal.enter("$day = new Day('2026-03-01');")
    await terminal.enter("$day->modify('+1 week')->format('l j F')")
    await terminal.enter('function inWeeks(int $weeks): Day {')
    await terminal.enter('  return $GLOBALS["day"]->modify("+$weeks weeks"); }')
    await terminal.enter('inWeeks(52)->diff($day)->days')
    await terminal.enter('array_sum(range(1, $_))')
    await terminal.enter('posix_kill(posix_getpid(), SIGKILL)')
    await terminal.enter("inWeeks(4)->format('Y-m-d')")
  })
  await expectPicture('terminal-php', shown, 'A session of scriptify’s terminal in PHP')
})

/** Everything that a terminal shows until `session` has ended, with what differs from run to run replaced. */
async function record(typist: Typist, session: () => Promise<void>): Promise<string> {
  let output = ''
  typist.pty.resize(COLUMNS, 50)
  typist.pty.onData((data) => {
    output += data
  })
  await typist.see(/(?:node|php)> $/)
  await session()
  return output
    .replaceAll(ROOT, '/srv/shop')
    .replaceAll(/\(\d+\.\d ms\)/g, '(0.9 ms)')
    .replaceAll(/(Node \d+|PHP \d+\.\d+)[.\d]*/g, '$1')
}

/** Text that differs needs a new picture; the colours of the next one may be others. */
async function expectPicture(name: string, output: string, title: string): Promise<void> {
  const file = join(ROOT, `docs/images/${name}.svg`)
  const drawn = await drawScreen(`$ npx scriptify terminal\r\n${output}`, { columns: COLUMNS, title })
  const current = await readFile(file, 'utf8').catch(() => '')
  if (textOf(current) !== textOf(drawn)) await expect(drawn).toMatchFileSnapshot(file)
}
