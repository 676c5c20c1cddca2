import { describe, expect, it } from 'vitest'
import { MailJob } from './mail-job.ts'
import { aMailJob } from './test/a-mail-job.ts'

const job = aMailJob()

describe('a mail job', () => {
  it.each(['ada@example.com', "o'brien+tag@example.co.uk", 'élan@exämple.org'])('is sent to %s', (to) => {
    expect(MailJob.safeParse({ ...job, to }).success).toBe(true)
  })

  it.each([
    { why: 'two recipients', to: 'a@example.com,b@example.com' },
    { why: 'two recipients, spaced', to: 'a@example.com; b@example.com' },
    { why: 'another header', to: 'a@example.com\r\nBcc: b@example.com' },
    { why: 'a display name', to: 'A <a@example.com>' },
    { why: 'two at signs', to: 'a@b@example.com' },
    { why: 'a header in the subject', subject: 'Hello\nBcc: b@example.com' },
    { why: 'a path for a template', template: '../../etc/passwd' },
    { why: 'a path for a language', language: '../en' },
    { why: 'variables in clear', variables: '{"code":"123456"}' },
    { why: 'an invalid date', expiresAt: 'tomorrow' },
  ])('is refused with $why', ({ why: _, ...wrong }) => {
    expect(MailJob.safeParse({ ...job, ...wrong }).success).toBe(false)
  })
})
