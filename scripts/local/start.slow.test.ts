import {
  answers,
  npmStart,
  ownSettings,
  type Start,
  signalGroup,
  WITHOUT_INBOX,
} from '@latchkey/test-support/npm-start.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'

describe('npm start', () => {
  let own: Awaited<ReturnType<typeof ownSettings>>
  let api: string
  beforeAll(async () => {
    own = await ownSettings()
    api = `http://127.0.0.1:${own.settings.PORT}`
  })
  afterAll(() => own?.[Symbol.asyncDispose]())

  it('says which servers of a setting are unreachable, and ends at Ctrl-C', async () => {
    const unreachable = { QUEUE_URL: 'redis://127.0.0.1:1', MAIL_URL: 'smtp://127.0.0.1:1' }
    await using start = npmStart({ ...own.settings, ...unreachable })
    for (const reason of ['queue at 127.0.0.1:1 (QUEUE_URL)', 'mail at 127.0.0.1:1 (MAIL_URL)'])
      await start.untilSaid(`${reason}: unreachable`)
    await expect.poll(() => answers(api)).toBe(true)
    signalGroup(start.process, 'SIGINT')
    await start.exited
    expect(start.output()).toMatch(/^Stopped\.$/m)
    expect(await answers(api)).toBe(false)
  })

  it('starts no service before the database is prepared, and ends at Ctrl-C while it waits for a lock', async () => {
    await using database = await createEmptyDatabase('embedded')
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const isHeld = Promise.withResolvers<void>()
    const held = database.db.withLock('latchkey_migrations', () => {
      isHeld.resolve()
      return released
    })
    await isHeld.promise
    await using start = npmStart({ ...own.settings, DATABASE_URL: database.url, ...WITHOUT_INBOX })
    await start.untilSaid('npm start waits for the database')
    expect(await answers(api)).toBe(false)
    signalGroup(start.process, 'SIGINT')
    await start.exited
    release()
    await held
  })

  it('runs once of three starts at one moment in one copy, and each other says why in one line', async () => {
    await using fresh = await ownSettings()
    const starts = [1, 2, 3].map(() => npmStart(fresh.settings))
    const { promise: ready, resolve } = Promise.withResolvers<Start>()
    for (const start of starts)
      void start.untilReady().then(
        () => resolve(start),
        () => undefined,
      )
    const running = await ready
    const others = starts.filter((start) => start !== running)
    for (const start of others) {
      expect(await start.exited).toBe(1)
      const said = start
        .output()
        .split('\n')
        .filter((line) => /already running on|Cannot listen on/.test(line))
      expect(said, start.output()).toHaveLength(1)
      expect(start.output()).not.toMatch(/^ +at /m)
    }
    signalGroup(running.process, 'SIGINT')
    await running.exited
  })
})
