import type { MailJob } from '../mail-job.ts'

/** The mail of a reset that Ada has requested, as it is queued, but for what is given. It expires in ten minutes. */
export const aMailJob = (given: Partial<MailJob> = {}): MailJob => ({
  to: 'ada@example.com',
  subject: '',
  template: 'password-reset',
  language: 'en',
  variables: 'a..b.c.d',
  expiresAt: new Date(Date.now() + 600_000).toISOString(),
  ...given,
})
