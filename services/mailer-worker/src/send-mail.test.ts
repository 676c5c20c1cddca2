import { randomBytes } from 'node:crypto'
import { createDependencyFailures } from '@latchkey/shared/health/dependency-failures.ts'
import { createSealer } from '@latchkey/shared/mail/outbox/seal-variables.ts'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { createMailMetrics } from './mail-metrics.ts'
import { createSendMail, type QueuedMail, type SendMailDependencies } from './send-mail.ts'
import { type Mail, PermanentFailure, SenderFailure } from './senders/sender.ts'

const sealer = createSealer(randomBytes(32))
const NOW = Date.parse('2026-01-01T00:00:00Z')

async function aJob(changes: object = {}, counters: object = {}) {
  const mail = {
    to: 'ada@example.com',
    subject: '',
    template: 'password-reset',
    language: 'en',
    expiresAt: '2026-01-01T00:10:00.000Z',
  }
  const variables = await sealer.seal('job-1', mail, { code: '123456', minutes: '10' })
  const data = { ...mail, variables, ...changes }
  return { id: 'job-1', data, timestamp: NOW - 40_000, attemptsMade: 0, opts: { attempts: 3 }, ...counters }
}

function aSender(changes: Partial<SendMailDependencies> = {}) {
  const send = vi.fn(async (_mail: Mail): Promise<void> => undefined)
  const metrics = createMailMetrics(new Registry())
  const settle = vi.fn(async (_id: string) => true)
  const keepFailed = vi.fn(async (_id: string) => undefined)
  const isSettled = vi.fn(async (_id: string) => false)
  const failures = createDependencyFailures(() => NOW)
  const logger = { debug: vi.fn(), info: vi.fn(), warn: vi.fn() }
  const sendMail = createSendMail({
    open: sealer.open,
    envelope: (to, _subject, _template, { code = '' }) => ({
      to,
      from: 'f@x.y',
      subject: 's',
      html: code,
      text: code,
    }),
    context: { from: 'f@x.y', environment: 'test', brand: { product: 'Latchkey', colour: '#000000' } },
    domain: 'x.y',
    send,
    settlement: { isSettled, settle, keepFailed },
    failures,
    metrics,
    logger,
    localNow: () => NOW,
    ...changes,
  })
  const count = async (name: 'sent' | 'failed' | 'expired' | 'retried' | 'repeated') =>
    (await metrics[name].get()).values[0]?.value ?? 0
  return { send, sendMail, count, settle, keepFailed, isSettled, failures, logger, metrics }
}

describe('sending one mail', () => {
  it('measures its wait from the moment it was accepted', async () => {
    const { sendMail, metrics } = aSender()
    await sendMail(await aJob())
    const { values } = await metrics.waited.get()
    const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.le ?? 'sum', value]))
    expect(counts).toMatchObject({ 30: 0, 60: 1 })
  })

  it('deletes the outbox row once the mail is sent or has expired, and not before; keeps that of a failed one', async () => {
    const sent = aSender()
    await sent.sendMail(await aJob())
    expect(sent.settle.mock.calls).toEqual([['job-1']])
    expect(sent.settle.mock.invocationCallOrder[0]).toBeGreaterThan(
      sent.send.mock.invocationCallOrder[0] ?? Number.NaN,
    )
    const expired = aSender({ localNow: () => Date.parse('2026-01-01T00:10:00Z') })
    await expired.sendMail(await aJob())
    expect(expired.settle).toHaveBeenCalledOnce()
    const refused = aSender({ send: () => Promise.reject(new PermanentFailure('550 no')) })
    await expect(refused.sendMail(await aJob())).rejects.toThrow(PermanentFailure)
    expect(refused.keepFailed.mock.calls).toEqual([['job-1']])
    expect(refused.settle).not.toHaveBeenCalled()
    const unavailable = aSender({ send: () => Promise.reject(new Error('unavailable')) })
    await expect(unavailable.sendMail(await aJob())).rejects.toThrow('unavailable')
    expect(unavailable.settle).not.toHaveBeenCalled()
    expect(unavailable.keepFailed).not.toHaveBeenCalled()
  })

  // Anyone who can write to Redis controls every field of a job.
  it.each<{ job: string; changes: Partial<QueuedMail> }>([
    { job: 'one that is new to the queue', changes: { timestamp: NOW } },
    { job: 'one that has waited', changes: { timestamp: NOW - 40_000 } },
    { job: 'one from the future', changes: { timestamp: NOW + 40_000 } },
    { job: 'one that an admin seems to have retried', changes: { attemptsStarted: 1, attemptsMade: 1 } },
    { job: 'one whose worker died', changes: { stalledCounter: 1, attemptsStarted: 2 } },
  ])('sends no job whose mail has left the outbox: $job', async ({ changes }) => {
    const { send, sendMail, count, isSettled } = aSender()
    isSettled.mockResolvedValue(true)
    const job = { ...(await aJob({}, changes)), stacktrace: ['PermanentFailure: 550'] }
    expect(await sendMail(job)).toBe('sent before')
    expect(isSettled.mock.calls).toEqual([['job-1']])
    expect(send).not.toHaveBeenCalled()
    expect([await count('sent'), await count('repeated')]).toEqual([0, 0])
  })

  it('sends nothing while the database cannot say whether it was sent, and tries again', async () => {
    const { send, sendMail, isSettled, count } = aSender()
    isSettled.mockRejectedValueOnce(new Error('The database cannot be reached'))
    await expect(sendMail(await aJob())).rejects.not.toThrow(PermanentFailure)
    expect(send).not.toHaveBeenCalled()
    expect(await count('retried')).toBe(1)
    expect(await sendMail(await aJob({}, { attemptsMade: 1 }))).toBe('sent')
  })

  it('does not call a mail that an admin has retried a repeat, though a worker once died with it', async () => {
    const { sendMail, count } = aSender()
    await sendMail(await aJob({}, { stalledCounter: 1, attemptsStarted: 1 }))
    expect(await count('repeated')).toBe(0)
  })

  it('leaves a failure of the sender to the readiness, until a mail is accepted', async () => {
    const { send, sendMail, failures, logger, count } = aSender()
    const refused = new SenderFailure('SMTP MAIL FROM: 530 from ada@example.com')
    send.mockRejectedValueOnce(refused).mockRejectedValueOnce(refused)
    for (const attemptsMade of [0, 1])
      await expect(sendMail(await aJob({}, { attemptsMade }))).rejects.not.toThrow(PermanentFailure)
    expect(failures.of('mail')).toMatchObject({
      count: 2,
      reason: 'SMTP MAIL FROM: 530 from [redacted]',
      at: NOW,
    })
    expect(await count('retried')).toBe(2)
    expect(logger.warn).not.toHaveBeenCalled()
    await sendMail(await aJob())
    expect(failures.of('mail')).toMatchObject({ count: 2, at: Number.NEGATIVE_INFINITY })
  })

  it('logs each failure of one mail', async () => {
    const { send, sendMail, failures, logger } = aSender()
    send.mockRejectedValueOnce(new Error('SMTP RCPT TO: 450 later'))
    await expect(sendMail(await aJob())).rejects.toThrow('450')
    expect(logger.warn).toHaveBeenCalledExactlyOnceWith(
      { mailId: 'job-1', reason: 'SMTP RCPT TO: 450 later', attempt: 1 },
      'a mail will be retried',
    )
    expect(failures.of('mail').count).toBe(0)
  })

  it('gives a mail back when it is stopped before the mail server answers', async () => {
    const stopping = new AbortController()
    const { sendMail, settle, count } = aSender({
      send: () => new Promise(() => undefined),
      signal: stopping.signal,
    })
    const attempt = sendMail(await aJob())
    stopping.abort()
    await expect(attempt).rejects.toThrow('stopped before the mail server answered')
    expect(settle).not.toHaveBeenCalled()
    expect(await count('retried')).toBe(1)
  })

  it('counts an expired mail where it was taken out', async () => {
    const { sendMail, count, settle } = aSender({ localNow: () => Date.parse('2026-01-01T00:10:00Z') })
    settle.mockResolvedValue(false)
    await sendMail(await aJob())
    expect(await count('expired')).toBe(0)
  })

  it('drops it at the moment it expires, and counts it', async () => {
    const { send, sendMail, count } = aSender({ localNow: () => Date.parse('2026-01-01T00:10:00Z') })
    expect(await sendMail(await aJob())).toBe('expired')
    expect(send).not.toHaveBeenCalled()
    expect(await count('expired')).toBe(1)
  })

  it.each([
    { why: 'a malformed job', changes: { to: 'a@x.y, b@x.y' } },
    { why: 'variables in clear', changes: { variables: '{"code":"123456"}' } },
    { why: 'variables that only look sealed', changes: { variables: 'a.b.c.d.e' } },
    { why: 'the variables of a mail to somebody else', changes: { to: 'eve@example.com' } },
    {
      why: 'the variables of a mail that would have expired',
      changes: { expiresAt: '2036-01-01T00:00:00Z' },
    },
  ])('fails permanently for $why', async ({ changes }) => {
    const { sendMail, count } = aSender()
    await expect(sendMail(await aJob(changes))).rejects.toThrow(PermanentFailure)
    expect(await count('failed')).toBe(1)
  })

  it('tries again when the variables were sealed with another key: another worker may have it', async () => {
    const { sendMail, count } = aSender({ open: createSealer(randomBytes(32)).open })
    const failure = sendMail(await aJob())
    await expect(failure).rejects.toThrow('sealed with another MAIL_SECRET than those of this worker')
    await expect(failure).rejects.not.toThrow('PREVIOUS')
    await expect(failure).rejects.not.toThrow(PermanentFailure)
    expect(await count('retried')).toBe(1)
  })

  it('sends no code from a job that was added by hand under another id', async () => {
    const { send, sendMail } = aSender()
    await expect(sendMail({ ...(await aJob()), id: 'job-2' })).rejects.toThrow('sealed for another mail: id')
    expect(send).not.toHaveBeenCalled()
  })

  it('keeps what it was sent with out of the message of a failure', async () => {
    const send = () => Promise.reject(new PermanentFailure('554 spam: "123456" or "123 456"'))
    const { sendMail } = aSender({ send })
    await expect(sendMail(await aJob())).rejects.toThrow('554 spam: "[redacted]" or "[redacted]"')
  })

  it('refuses an envelope to another recipient, or with another header in it', async () => {
    const built = { from: 'f@x.y', html: '', text: '', subject: 's' }
    for (const wrong of [
      { ...built, to: 'eve@example.com' },
      { ...built, to: 'ada@example.com', subject: 's\r\nBcc: eve@example.com' },
    ]) {
      await expect(aSender({ envelope: () => wrong }).sendMail(await aJob())).rejects.toThrow(
        PermanentFailure,
      )
    }
  })

  it('counts a mail that a dead worker may have sent already', async () => {
    const { sendMail, count } = aSender()
    await sendMail(await aJob({}, { stalledCounter: 1, attemptsStarted: 2 }))
    expect(await count('repeated')).toBe(1)
  })

  it('gives up at the last attempt', async () => {
    const { sendMail, count } = aSender({ send: () => Promise.reject(new Error('unavailable')) })
    await expect(sendMail(await aJob({}, { attemptsMade: 1 }))).rejects.not.toThrow(PermanentFailure)
    await expect(sendMail(await aJob({}, { attemptsMade: 2 }))).rejects.toThrow(PermanentFailure)
    expect([await count('retried'), await count('failed')]).toEqual([1, 1])
  })
})
