import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openHistory } from './history.ts'

const aPath = () => join(mkdtempSync(join(tmpdir(), 'scriptify-history-')), 'history.jsonl')

it('keeps an entry that follows a write which was cut short', () => {
  const path = aPath()
  writeFileSync(path, '"1"\nnot json\n"cut')
  const history = openHistory(path)
  expect(history.entries).toEqual(['1'])
  history.add('2')
  expect(openHistory(path).entries).toEqual(['2', '1'])
})

it.each([
  `$password = 'hunter2'`,
  `config["api_key"] = "hunter2"`,
  `$user->setPassword("hunter2")`,
  `{ token: 'hunter2' }`,
  `connect('postgres://ada:hunter2@db/shop')`,
  `new PDO('pgsql:host=db;password=hunter2')`,
  `fetch('/items?token=hunter2')`,
  `qq("alter user ada password 'hunter2'")`,
  `qq("create user ada identified by 'hunter2'")`,
  `headers.set('Authorization', 'Bearer hunter2hunter2')`,
  `key = '-----BEGIN EC PRIVATE KEY-----'`,
  `verify('eyJhbGciOiJub25lIn0.e30.')`,
  `Users::setPassword('ada@example.com', 'hunter2')`,
  `await users.setPassword(login, "hunter2")`,
  `password_verify('hunter2', $hash)`,
  `new PDO($dsn, 'root', 'hunter2')`,
  `new \\PDO('mysql:host=db', 'root', "hunter2", [])`,
  `$db = new mysqli('db', 'root', 'hunter2')`,
  `mysqli_connect('db', 'root', 'hunter2')`,
  `pg_connect("host=db user=me password=hunter2")`,
  `createConnection({ host, user: 'root', pwd: 'hunter2' })`,
  `login('ada', 'hunter2')`,
  `$redis->auth(['ada', 'hunter2'])`,
  `putenv('DB_PASSWORD=hunter2')`,
  `define('DB_PASSWORD', 'hunter2')`,
  `fetch(url, { headers: { Authorization: 'Basic YWRhOmh1bnRlcjI=' } })`,
  `['Authorization: Basic YWRhOmh1bnRlcjI=']`,
  `headers.set("authorization", "token hunter2")`,
  `{ 'X-Api-Key': 'hunter2' }`,
  `{ 'PRIVATE-TOKEN': 'hunter2' }`,
  `new Stripe('sk_live_4eC39HqLyjWDarjtT1zdp7dc')`,
  `stripe('rk_test_4eC39HqLyjWDarjtT1zdp7dc')`,
  `id = 'AKIAIOSFODNN7EXAMPLE'`,
  `x = 'ghp_16C7e42F292c6912E7710c838347Ae178B4a'`,
  `x = 'glpat-20-characters_here1'`,
  `x = 'xoxb-123456789012-abcdef'`,
])('keeps no secret: %s', (statement) => {
  const path = aPath()
  expect(openHistory(path).add(statement)).toBe(false)
  expect(openHistory(path).entries).toEqual([])
})

it.each([
  `const token = await login()`,
  `$password=readline();`,
  `let password = prompt()`,
  `fetch('https://db/items?page=2')`,
  `new PDO($dsn, $user, $password)`,
  `new DateTime('2026-01-01', $zone)`,
  `Users::setPassword($login, $password)`,
  `login($user, $password)`,
  `headers.authorization`,
  `'basic authentication'`,
])('keeps what only mentions one: %s', (statement) => {
  expect(openHistory(aPath()).add(statement)).toBe(true)
})

it('keeps what two sessions add, for its owner alone', () => {
  const path = aPath()
  const [one, other] = [openHistory(path), openHistory(path)]
  one.add('1')
  other.add('2')
  one.add('3')
  expect(openHistory(path).entries).toEqual(['3', '2', '1'])
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

it('says when nothing can be kept', () => {
  expect(openHistory(aPath()).problem).toBeUndefined()
  expect(openHistory(undefined).problem).toBeUndefined()
  expect(openHistory('/proc/none/history.jsonl').problem).toBe(
    'The history is not kept: /proc/none/history.jsonl cannot be read and written',
  )
})

it('reads a file that it may not write, and leaves it as it is', () => {
  const path = aPath()
  writeFileSync(path, '"1"\n', { mode: 0o400 })
  // Root may write to any file. Another user could not read the modules of a checkout that is root's alone.
  const withoutRights = process.geteuid?.() === 0 ? ['setpriv', '--inh-caps=-all', '--bounding-set=-all'] : []
  const script = `import { openHistory } from ${JSON.stringify(join(import.meta.dirname, 'history.ts'))}
    const history = openHistory(process.argv[1])
    history.add('2')
    console.log(JSON.stringify(history))`
  const command = [process.execPath, '--input-type=module', '--eval', script, path]
  const [program = '', ...words] = [...withoutRights, ...command]
  const { entries, problem } = JSON.parse(execFileSync(program, words, { encoding: 'utf8' }))
  expect(entries).toEqual(['2', '1'])
  expect(problem).toContain('cannot be read and written')
  expect(readFileSync(path, 'utf8')).toBe('"1"\n')
})
