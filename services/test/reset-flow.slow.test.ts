import { randomBytes } from 'node:crypto'
import { PASSWORD } from '@latchkey/test-support/a-user.ts'
import type { Mailbox } from '@latchkey/test-support/mailbox.ts'
import {
  type Answer,
  findLeaks,
  NEW_PASSWORD,
  type RunningServices,
  startServices,
} from '@latchkey/test-support/running-services.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from 'vitest'

describe.skipIf(!hasDocker()).each(inject('combinations'))('a forgotten password on %s', (combination) => {
  let flow: RunningServices
  let mailbox: Mailbox
  beforeAll(async () => {
    flow = await startServices(combination)
    mailbox = flow.mailbox
  })
  afterAll(() => flow?.[Symbol.asyncDispose]())
  beforeEach(() => {
    mailbox.delayMs = 0
  })

  it('ends with a new password, and only that one logs in', async () => {
    const user = await flow.newUser()
    const { status, body } = await flow.request(user.email)
    expect(status).toBe(200)
    const code = await flow.codeFor(user)
    const confirmed = await flow.post('/login/confirmcode', { email: user.email, code, token: body.token })
    expect(confirmed).toMatchObject({ status: 200, body: { token: body.token } })
    const change = { email: user.email, token: body.token, password: NEW_PASSWORD }
    expect((await flow.post('/login/resetpassword', change)).status).toBe(200)
    expect(await flow.logIn(user, NEW_PASSWORD)).toBe(200)
    expect(await flow.logIn(user, PASSWORD)).toBe(401)
    expect((await flow.post('/login/resetpassword', change)).status, 'a second time').toBe(422)
  })

  it('answers an unknown e-mail like a known one, with the mail server up, slow and down', async () => {
    for (const state of ['up', 'slow', 'down']) {
      if (state === 'slow') mailbox.delayMs = 2_000
      if (state === 'down') await mailbox.goDown()
      const known = await flow.request((await flow.newUser()).email)
      const unknown = await flow.request(`${randomBytes(6).toString('hex')}@example.com`)
      const shape = ({
        status,
        body,
        headers: { 'x-request-id': _id, date: _date, ...headers },
      }: Answer) => ({
        status,
        headers,
        body: Object.entries(body).map(([name, value]) => [name, typeof value, value?.length]),
      })
      expect(shape(unknown), state).toEqual(shape(known))
      expect(known.status).toBe(200)
    }
    await mailbox.comeUp()
  })

  it('answers eight concurrent requests for one e-mail; only the newest code is valid', async () => {
    for (const user of await flow.newUsers(5)) {
      const answers = await Promise.all(Array.from({ length: 8 }, () => flow.request(user.email)))
      expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
      await expect.poll(() => mailbox.to(user.email)).toHaveLength(8)
      const statuses: number[] = []
      for (const { text } of mailbox.to(user.email)) {
        const code = flow.codeIn(text)
        statuses.push((await flow.post('/login/confirmcode', { email: user.email, code })).status)
      }
      expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    }
  })

  it('stops gracefully while the mail server hangs; the next worker sends the mail in flight', async () => {
    await flow.worker.kill('SIGTERM')
    mailbox.hangs = true
    const hanging = await flow.startWorker({ SHUTDOWN_GRACE: '3' })
    await hanging.ready()
    const user = await flow.newUser()
    await flow.request(user.email)
    await expect.poll(() => mailbox.hangingMails).toBeGreaterThan(0)
    expect(await hanging.kill('SIGTERM')).toBe(0)
    mailbox.hangs = false
    flow.worker = await flow.startWorker()
    await expect.poll(() => mailbox.to(user.email)).not.toEqual([])
    expect(mailbox.to(user.email)).toHaveLength(1)
  })

  it('leaves no code, token or password in the database, in Redis or in a log', async () => {
    const user = await flow.newUser()
    await flow.request(user.email)
    await flow.codeFor(user)
    expect(await findLeaks(flow, user.email)).toEqual([])
  })
})
