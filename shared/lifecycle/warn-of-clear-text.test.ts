import { expect, it, vi } from 'vitest'
import { warnOfClearText } from './warn-of-clear-text.ts'

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
