import { createReadInstallation } from '@latchkey/shared/database/installation.ts'
import { withDatabase } from '@latchkey/shared/database/with-database.ts'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { KEEP_FAILED_COUNT } from '@latchkey/shared/mail/queue/job-options.ts'
import { type FailedMail, type MailQueue, openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { nameQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { isRedisUrl } from '@latchkey/shared/redis/redis-url.ts'
import { loadEnvironment } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import { hostsOf } from '@latchkey/shared/settings/setting.ts'
import { maskAddress, maskAddresses } from '@latchkey/shared/users/email-address.ts'
import { formatFields, formatTable } from './console/format-table.ts'
import { parseWholeNumber } from './fault.ts'

const TIMEOUT_MS = 5_000

/** The mail queue at QUEUE_URL; if that is unset, at DATABASE_URL, which must then be PostgreSQL. */
export class Queue {
  /** Shows what the queue of this installation is called on its server, and counts the mails by their state. */
  async status(): Promise<void> {
    const [counts, name] = await withQueue(async (queue, name) => [await queue.counts(), name])
    const states = Object.entries(counts).map(([state, count]): [string, string] => [state, String(count)])
    console.log(formatFields([['queue', name], ...states]))
  }

  /** Lists the mails that are not retried any more, newest first, without their content. */
  async failed(limit = '100'): Promise<void> {
    const max = parseWholeNumber('limit', limit, 1, KEEP_FAILED_COUNT)
    const failed = await withQueue((queue) => queue.listFailed(max))
    if (failed.length === 0) return console.log('No mail has failed.')
    console.log(
      formatTable(['id', 'template', 'to', 'attempts', 'failed', 'reason'], failed.map(describeFailed)),
    )
  }

  /** Queues a failed mail again, by its id, or `all` of them. */
  async retry(id: string): Promise<void> {
    if (id === '') throw new Error('Give the id of a failed mail, or all')
    const count = await withQueue((queue) => (id === 'all' ? retryAll(queue) : retryOne(queue, id)))
    console.log(count === 1 ? '1 mail is tried again.' : `${count} mails are tried again.`)
  }
}

async function retryOne(queue: MailQueue, id: string): Promise<number> {
  if (await queue.retryFailed(id)) return 1
  throw new Error(`No failed mail has the id ${JSON.stringify(id)}; Queue::failed lists the ids`)
}

/** Retries each mail once: one that fails again during the loop would otherwise be retried forever. */
async function retryAll(queue: MailQueue): Promise<number> {
  let count = 0
  for (const { id } of await queue.listFailed(KEEP_FAILED_COUNT)) {
    if (await queue.retryFailed(id)) count++
  }
  return count
}

function describeFailed({ id, data, attempts, failedAt, reason }: FailedMail): string[] {
  // It may have failed because its data could not be parsed.
  const job = typeof data === 'object' && data !== null ? data : {}
  const template = 'template' in job && typeof job.template === 'string' ? job.template : '?'
  const to = 'to' in job && typeof job.to === 'string' ? maskAddress(job.to) : '?'
  return [id, template, to, String(attempts), failedAt?.toISOString() ?? '', maskAddresses(reason)]
}

async function withQueue<Result>(
  work: (queue: MailQueue, shownName: string) => Promise<Result>,
): Promise<Result> {
  const { DATABASE_URL, QUEUE_URL } = parseSettings(
    ['DATABASE_URL', 'QUEUE_URL'],
    loadEnvironment(process.env),
  )
  const installation = await withDatabase(DATABASE_URL, (db) => createReadInstallation(db)())
  const queue = openMailQueue(QUEUE_URL, {
    readInstallation: async () => installation,
    timeoutMs: TIMEOUT_MS,
  })
  try {
    await queue.ping().catch((error: unknown) => {
      const reason = rootReason(error)
      throw new Error(`The queue at ${hostsOf(QUEUE_URL)} (QUEUE_URL) cannot be reached: ${reason}`, {
        cause: error,
      })
    })
    const { name, prefix } = nameQueue(QUEUE_URL, installation)
    return await work(queue, isRedisUrl(QUEUE_URL) ? `${prefix}:${name}` : name)
  } finally {
    await queue.close()
  }
}
