import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  aDataDir,
  isInitialising,
  kill,
  killIfThere,
  launch,
  launchProcess,
  postmasterPid,
  query,
  serverProcesses,
  start,
} from '@latchkey/test-support/embedded-launcher.ts'
import { describe, expect, it } from 'vitest'

const isRoot = process.getuid?.() === 0
const ROOT_ONLY = isRoot ? '' : ' (skipped: takes root to try)'
const NOBODY = 65_534
const NAMELESS = 54_321

// The tests look for processes in /proc.
describe.skipIf(process.platform !== 'linux')('the embedded PostgreSQL', () => {
  it('lets exactly one of several simultaneous first starts win', async () => {
    await using folder = aDataDir()
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => launch(folder.path)))
    const won = outcomes.filter((outcome) => outcome.status === 'fulfilled')
    const lost = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(won).toHaveLength(1)
    for (const { reason } of lost) expect(String(reason)).toContain('already running on')
    expect(readdirSync(folder.path)).toEqual(['postgres'])
    await won[0]?.value[Symbol.asyncDispose]()
  })

  it('recovers after a kill -9 of all processes at once', async () => {
    await using folder = aDataDir()
    const first = await launch(folder.path)
    await query(first.url, "CREATE TABLE note AS SELECT 'kept' AS text")
    const all = serverProcesses(folder.path)
    await first.kill()
    for (const pid of all) killIfThere(pid)

    await using second = await start(folder.path)
    expect(await query(second.url, 'SELECT text FROM note')).toEqual([{ text: 'kept' }])
  })

  it('starts over when a kill -9 ended the first start during initdb', async () => {
    await using folder = aDataDir()
    const starting = launchProcess(folder.path)
    await expect.poll(() => isInitialising(folder.path), { interval: 5 }).toBe(true)
    await kill(starting)
    expect(existsSync(join(folder.path, 'postgres'))).toBe(false)
    expect(readdirSync(folder.path)).toEqual([`postgres.init-${starting.pid}`])

    await using server = await start(folder.path)
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(readdirSync(folder.path), 'what the killed start left').toEqual(['postgres'])
  })

  it.skipIf(!isRoot)(`runs under root in a folder that only root may enter${ROOT_ONLY}`, async () => {
    await using folder = aDataDir()
    const closed = join(folder.path, 'closed')
    mkdirSync(closed, { mode: 0o700 })
    chmodSync(folder.path, 0o700)
    const server = await start(join(closed, 'data'))
    expect(await query(server.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
    expect(statSync(`/proc/${postmasterPid(join(closed, 'data'))}`).uid).not.toBe(0)
    await server.stop()
    await using again = await start(join(closed, 'data'))
    expect(await query(again.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
  })

  it.skipIf(!isRoot)(
    `runs for a normal user, and names the owner of the data to another one${ROOT_ONLY}`,
    async () => {
      await using folder = aDataDir()
      chownSync(folder.path, NOBODY, NOBODY)
      const first = await launch(folder.path, NOBODY)
      expect(await query(first.url, 'SELECT 1 AS one')).toEqual([{ one: 1 }])
      expect(statSync(`/proc/${postmasterPid(folder.path)}`).uid).toBe(NOBODY)
      await first[Symbol.asyncDispose]()
      await expect(launch(folder.path, 1)).rejects.toThrow(
        `The database in ${folder.path} (DATA_DIR) belongs to uid ${NOBODY}, and this is uid 1`,
      )
      // Under root the data keep their owner.
      await (await start(folder.path)).stop()
      expect(statSync(join(folder.path, 'postgres/data')).uid).toBe(NOBODY)
    },
  )

  it.skipIf(!isRoot)(`says in one line that its user has no name${ROOT_ONLY}`, async () => {
    await using folder = aDataDir()
    chownSync(folder.path, NAMELESS, NAMELESS)
    await expect(launch(folder.path, NAMELESS)).rejects.toThrow(
      /^PostgreSQL's initdb failed: the user of this process has no name\. .*DATABASE_URL\.$/,
    )
    expect(readdirSync(folder.path)).toEqual([])
  })
})
