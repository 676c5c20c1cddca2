import { expect, it, vi } from 'vitest'
import { isClearText, warnOfClearText } from './warn-of-clear-text.ts'

it.each([
  'postgres://a:b@db.example.com/latchkey',
  'postgresql://a:b@10.0.0.1/latchkey?sslmode=disable',
  'postgres://a:b@[fd00::1]/latchkey',
  'mysql://a:b@db.example.com/latchkey',
  'mariadb://a:b@db.databases.svc/latchkey',
  'redis://:b@redis.example.com',
  'mysql://a:b@db.example.com/latchkey?sslmode=disable',
  'smtp://relay.example.com:25',
])('%s is in clear', (url) => {
  expect(isClearText(url)).toBe(true)
})

it.each([
  'postgres://a:b@db.example.com/latchkey?sslmode=verify-full',
  'postgres://a:b@db.example.com/latchkey?sslrootcert=/ca.crt',
  'postgres://a:b@db.example.com/latchkey?ssl=true',
  'mysql://a:b@db.example.com/latchkey?ssl={"verifyIdentity":true}',
  'rediss://:b@redis.example.com',
  'redis://:b@redis.example.com?tls=true',
  'mysql://a:b@db.example.com/latchkey?ssl-mode=REQUIRED',
  'smtps://relay.example.com',
  'smtp://a:b@relay.example.com:587',
  'smtp://relay.example.com:25?requireTLS=true',
  // On this host, in the network of compose, by a socket, and without a server.
  'postgres://a:b@127.0.0.1/latchkey',
  'redis://[::1]:6379',
  'mysql://a:b@localhost/latchkey',
  'postgres://a:b@postgres:5432/latchkey',
  'postgres:///latchkey?host=/run/postgresql',
  'null:',
  'file:///var/spool/latchkey',
])('%s is not in clear', (url) => {
  expect(isClearText(url)).toBe(false)
})

it('warns of TLS that does not verify the server', () => {
  const warn = vi.fn()
  const urls = {
    DATABASE_URL: 'postgres://a:secret@db.example.com/b?sslmode=require',
    QUEUE_URL: 'rediss://redis.example.com',
  }
  warnOfClearText({ environment: 'prod', urls, logger: { warn } })
  expect(warn.mock.calls).toEqual([
    [
      { setting: 'DATABASE_URL', host: 'db.example.com' },
      'DATABASE_URL does not verify the server; write sslmode=verify-full',
    ],
  ])
})

it.each([
  { environment: 'prod', warnings: 1 },
  { environment: 'staging', warnings: 1 },
  { environment: 'dev', warnings: 0 },
])('warns $warnings times in $environment, without the password', ({ environment, warnings }) => {
  const warn = vi.fn()
  const urls = {
    DATABASE_URL: 'postgres://a:secret@db.example.com:5432/b',
    QUEUE_URL: 'rediss://redis.example.com',
  }
  warnOfClearText({ environment, urls, logger: { warn } })
  expect(warn).toHaveBeenCalledTimes(warnings)
  expect(JSON.stringify(warn.mock.calls)).not.toContain('secret')
  for (const [details, message] of warn.mock.calls) {
    expect(details).toEqual({ setting: 'DATABASE_URL', host: 'db.example.com:5432' })
    expect(message).toContain('DATABASE_URL has no TLS')
  }
})
