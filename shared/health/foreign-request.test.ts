import { expect, it } from 'vitest'
import { isForeign } from './foreign-request.ts'

it.each([
  { host: 'localhost' },
  { host: 'localhost:1080', origin: 'http://localhost:1080' },
  { host: 'latchkey.localhost:8080' },
  { host: '127.0.0.1:1080', origin: 'http://127.0.0.1:1080' },
  { host: '192.168.1.5:1080' },
  { host: '[::1]:1080', origin: 'http://[::1]:1080' },
])('is not sent by another page: %o', (headers) => {
  expect(isForeign(headers)).toBe(false)
})

it.each([
  {},
  { host: '' },
  { host: 'evil.example' },
  { host: 'evil.example:1080', origin: 'http://evil.example:1080' },
  { host: 'localhost.evil.example:1080' },
  { host: 'notlocalhost:1080' },
  { host: '"><script>.localhost' },
  { host: '127.0.0.1.evil.example:1080' },
  { host: '127.0.0.1:1080', origin: 'https://evil.example' },
  { host: '127.0.0.1:1080', origin: 'http://127.0.0.1:8080' },
  { host: '127.0.0.1:1080', origin: 'null' },
])('may be sent by another page: %o', (headers) => {
  expect(isForeign(headers)).toBe(true)
})
