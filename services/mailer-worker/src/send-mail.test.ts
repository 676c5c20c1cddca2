import { randomBytes } from 'node:crypto'
import { createSealer } from '@latchkey/shared/mail-outbox/seal-variables.ts'
import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { createMailMetrics } from './mail-metrics.ts'
import { createSendMail, type SendMailDependencies } from './send-mail.ts'
import { PermanentFailure } from './senders/sender.ts'

const sealer = createSealer(randomBytes(32))
const NOW = Date.parse('2026-01-01T00:00:00Z')
const silent = { info: () => undefined, warn: () => undefined }

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
  const send = vi.fn(async () => undefined)
  const metrics = createMailMetrics(new Registry())
  const settle = vi.fn(async (_id: string) => true)
  const isSettled = vi.fn(async (_id: string) => false)
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
    settlement: { isSettled, settle },
    metrics,
    logger: silent,
    clock: () => NOW,
    ...changes,
  })
  const count = async (name: 'sent' | 'failed' | 'expired' | 'retried' | 'repeated') =>
    (await metrics[name].get()).values[0]?.value ?? 0
  return { send, sendMail, count, settle, isSettled, metrics }
}

describe('sending one mail', () => {
  it('measures its wait from the moment it was accepted', async () => {
    const { sendMail, metrics } = aSender()
    await sendMail(await aJob())
    const { values } = await metrics.waited.get()
    const counts = Object.fromEntries(values.map(({ labels, value }) => [labels.le ?? 'sum', value]))
    expect(counts).toMatchObject({ 30: 0, 60: 1 })
  })

  it('deletes the outbox row once the mail is sent, has expired or failed permanently, and not before', async () => {
    const sent = aSender()
    await sent.sendMail(await aJob())
    expect(sent.settle.mock.calls).toEqual([['job-1']])
    expect(sent.settle.mock.invocationCallOrder[0]).toBeGreaterThan(
      sent.send.mock.invocationCallOrder[0] ?? Number.NaN,
    )
    const expired = aSender({ clock: () => Date.parse('2026-01-01T00:10:00Z') })
    await expired.sendMail(await aJob())
    expect(expired.settle).toHaveBeenCalledOnce()
    const refused = aSender({ send: () => Promise.reject(new PermanentFailure('550 no')) })
    await expect(refused.sendMail(await aJob())).rejects.toThrow(PermanentFailure)
    expect(refused.settle).toHaveBeenCalledOnce()
    const unavailable = aSender({ send: () => Promise.reject(new Error('unavailable')) })
    await expect(unavailable.sendMail(await aJob())).rejects.toThrow('unavailable')
    expect(unavailable.settle).not.toHaveBeenCalled()
  })

  it('does not send again what a worker had sent and taken out before it died', async () => {
    const { send, sendMail, count, isSettled } = aSender()
    isSettled.mockResolvedValue(true)
    expect(await sendMail(await aJob({}, { stalledCounter: 1, attemptsStarted: 2 }))).toBe('sent before')
    expect(send).not.toHaveBeenCalled()
    expect(await count('repeated')).toBe(0)
  })

  it('does not send again what was sent before the queue forgot it', async () => {
    const { send, sendMail, isSettled } = aSender()
    isSettled.mockResolvedValue(true)
    expect(await sendMail(await aJob())).toBe('sent before')
    expect(send).not.toHaveBeenCalled()
  })

  it('asks the database nothing about a mail that has not waited', async () => {
    const { sendMail, isSettled } = aSender()
    expect(await sendMail(await aJob({}, { timestamp: NOW - 1_000 }))).toBe('sent')
    expect(isSettled).not.toHaveBeenCalled()
  })

  it.each([{ failed: 'a failed mail' }, { failed: 'one with which a worker once died', stalledCounter: 1 }])(
    'sends $failed that an admin has retried',
    async ({ failed: _, ...counters }) => {
      const { send, sendMail, isSettled } = aSender()
      isSettled.mockResolvedValue(true)
      const retried = await aJob(
        {},
        { attemptsStarted: 1, stacktrace: ['PermanentFailure: 550'], ...counters },
      )
      expect(await sendMail(retried)).toBe('sent')
      expect(send).toHaveBeenCalledOnce()
    },
  )

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
    const { sendMail, count, settle } = aSender({ clock: () => Date.parse('2026-01-01T00:10:00Z') })
    settle.mockResolvedValue(false)
    await sendMail(await aJob())
    expect(await count('expired')).toBe(0)
  })

  it('drops it at the moment it expires, and counts it', async () => {
    const { send, sendMail, count } = aSender({ clock: () => Date.parse('2026-01-01T00:10:00Z') })
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
    await expect(failure).rejects.toThrow('MAIL_SECRET')
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
