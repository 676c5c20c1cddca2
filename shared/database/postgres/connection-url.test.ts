import pg from 'pg'
import { expect, it, onTestFinished, vi } from 'vitest'
import { withStartUp } from './start-up.ts'

const SHELL = {
  PGHOST: 'other.example.com',
  PGPORT: '6543',
  PGUSER: 'other',
  PGPASSWORD: 'from the shell',
  PGDATABASE: 'other',
  PGSSLMODE: 'require',
  PGSSLNEGOTIATION: 'direct',
  PGOPTIONS: '-c search_path=other',
  PGCLIENTENCODING: 'LATIN1',
}

/** Returns what pg makes of a URL, with everything in the shell that it reads. */
function connectionOf(url: string) {
  for (const [name, value] of Object.entries(SHELL)) vi.stubEnv(name, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const client = new pg.Client(withStartUp(url))
  const { host, port, user, password, database, ssl } = client
  return { host, port, user, password, database, ssl, options: optionsOf(client) }
}

const optionsOf = (client: object) => Reflect.get(Reflect.get(client, 'connectionParameters'), 'options')

it('is what the URL says, whatever the shell says', () => {
  expect(connectionOf('postgres://u:p%25%40%23%2Fw%C3%BC:x@db.example.com/lat%23chkey')).toMatchObject({
    host: 'db.example.com',
    port: 5432,
    user: 'u',
    password: 'p%@#/wü:x',
    database: 'lat#chkey',
    ssl: false,
    options: expect.stringMatching(/^-c client_encoding=UTF8 .*-c TimeZone=UTC$/),
  })
})

it.each([
  ['postgres://u:p@[fd00::1]:5433/x', { host: 'fd00::1', port: 5433 }],
  ['postgres:///x?host=/run/postgresql&port=5433', { host: '/run/postgresql', port: 5433 }],
  ['postgres://u:p@%2Frun%2Fpostgresql/x', { host: '/run/postgresql' }],
  ['postgres://db.example.com/x?user=u&password=p%40', { user: 'u', password: 'p@' }],
])('is read of %s', (url, expected) => {
  expect(connectionOf(url)).toMatchObject(expected)
})

it('takes from the shell the user, password and database that the URL does not name', () => {
  expect(connectionOf('postgres://db.example.com')).toMatchObject({
    host: 'db.example.com',
    user: 'other',
    password: 'from the shell',
    database: 'other',
  })
})
