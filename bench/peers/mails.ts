import { createPostgresBackend, Queue } from 'bullmq'

/** Adds a job to a BullMQ queue of the peer's own, on Redis or PostgreSQL. */
export function openMails(url: string): (mail: object) => Promise<void> {
  const queue = /^rediss?:/.test(url)
    ? new Queue('peer-mail', { connection: { url } })
    : new Queue('peer-mail', { connection: { connectionString: url } }, createPostgresBackend)
  return async (mail) => void (await queue.add('mail', mail, { removeOnComplete: true }))
}
