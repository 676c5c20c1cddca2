import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { waitFor } from '@latchkey/test-support/wait-for.ts'
import { expect } from 'vitest'
import { addressesOf, anAddress, type MailSystem } from './mail-system.ts'

/** Takes over the mail of dead workers after 3 to 4 s instead of 10 to 15. */
const IMPATIENT_MAIN = join(import.meta.dirname, 'impatient-main.ts')
/** The default of MAIL_CONCURRENCY: how many mails a worker may be sending when it is killed. */
const CONCURRENCY = 8

/**
 * Requests `mails` while workers are killed (SIGKILL) `kills` times. Every mail arrives; what arrives again has the same
 * Message-ID, and a worker has announced it. Returns a line that says what was counted.
 */
export async function expectMailToSurviveKills(
  system: MailSystem,
  { mails, kills }: { mails: number; kills: number },
): Promise<string> {
  const { mailbox, producer } = system
  const before = mailbox.mails.length
  const ids: string[] = []
  const messageIds = () => new Set<string | undefined>(ids.map((id) => `<${id}@example.com>`))
  // A mail that an earlier test left to be retried may arrive too.
  const received = () => {
    const own = messageIds()
    return mailbox.mails.slice(before).filter(({ messageId }) => own.has(messageId))
  }
  const arrived = () => new Set(received().map(({ messageId }) => messageId))
  const haveAllArrived = () => ids.length === mails && arrived().size === mails

  async function produce(): Promise<void> {
    for (const address of addressesOf(anAddress(), mails)) {
      ids.push(await producer.request(address))
      await wait(5) // Spreads the mails over the kills.
    }
  }
  async function killWorkers(): Promise<void> {
    for (let kill = 0; kill < kills; kill++) {
      await using worker = await system.startWorker({}, { main: IMPATIENT_MAIN })
      const start = mailbox.mails.length
      await waitFor(() => mailbox.mails.length > start + 3 || haveAllArrived())
      await wait(Math.random() * 100) // At any moment of the work.
      await worker.kill('SIGKILL')
    }
  }

  mailbox.delayMs = 20
  await Promise.all([produce(), killWorkers()])
  await using last = await system.startWorker({}, { main: IMPATIENT_MAIN })
  await waitFor(haveAllArrived)
  const announced = () => new Set(announcedIn([...system.logs, last.log()].join('\n')))
  const timesOf = (id: string) => received().filter(({ messageId }) => messageId === `<${id}@example.com>`)
  await expect.poll(() => ids.filter((id) => timesOf(id).length > 1 && !announced().has(id))).toEqual([])
  await expect
    .poll(async () => (await last.metric('latchkey_mail_repeated_total')) - announcedIn(last.log()).length)
    .toBe(0)
  const repeats = received().length - arrived().size
  expect(arrived().size).toBe(mails)
  expect(repeats).toBeLessThanOrEqual(kills * CONCURRENCY)
  const { failed } = await producer.queue.counts()
  expect(failed).toBe((await producer.queue.listFailed()).length)
  return `${mails} mails, ${kills} kills, ${arrived().size} arrived, ${repeats} again, ${announced().size} announced as possible repeats`
}

/** The ids of the mails of which a worker has logged that they may arrive twice. */
const announcedIn = (log: string): string[] =>
  log
    .split('\n')
    .filter((line) => line.includes('it may come twice'))
    .map((line) => String(JSON.parse(line).mailId))
