import { expect, it } from 'vitest'
import { isClearText } from './clear-text.ts'

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
  'redis://queue.localhost:6379',
  'postgres://a:b@postgres:5432/latchkey',
  'postgres:///latchkey?host=/run/postgresql',
  'null:',
  'file:///var/spool/latchkey',
])('%s is not in clear', (url) => {
  expect(isClearText(url)).toBe(false)
})
