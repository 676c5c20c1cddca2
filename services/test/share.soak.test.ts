import { randomBytes } from 'node:crypto'
import { imageOf } from '@latchkey/test-support/images.ts'
import { startServers } from '@latchkey/test-support/mail-servers.ts'
import { openMailbox } from '@latchkey/test-support/mailbox.ts'
import { openProducer } from '@latchkey/test-support/producer.ts'
import { builtServiceImages } from '@latchkey/test-support/servers/shared-server.ts'
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { beforeAll, describe, expect, it } from 'vitest'

beforeAll(builtServiceImages)

/** 5,000 by hand: MAILS=5000. */
const MAILS = Number(process.env.MAILS ?? 600)
const WORKERS = 3
const METRICS_PORT = 9465
/** The producer's connections: a request that waits for one fails after 3 s. */
const CONCURRENT_REQUESTS = 4

describe('three mailer-workers', () => {
  it(`share ${MAILS} mails and send each once`, async () => {
    await using servers = await startServers('PostgreSQL + Redis')
    await using mailbox = await openMailbox('0.0.0.0')
    const secret = randomBytes(32)
    await using producer = await openProducer(servers, secret)
    const fromContainer = (url: string) => url.replace('127.0.0.1', 'host.docker.internal')
    const settings = {
      APP_ENV: 'prod',
      DATABASE_URL: fromContainer(servers.databaseUrl),
      QUEUE_URL: fromContainer(servers.queueUrl),
      MAIL_URL: fromContainer(mailbox.url),
      MAIL_FROM: 'no-reply@example.com',
      MAIL_SECRET: secret.toString('base64'),
      // The limit is the queue's, so it must not be what the test measures.
      MAIL_RATE: '10000',
    }
    const start = () =>
      new GenericContainer(imageOf('mailer-worker'))
        .withEnvironment(settings)
        .withExtraHosts([{ host: 'host.docker.internal', ipAddress: 'host-gateway' }])
        .withExposedPorts(METRICS_PORT)
        .withWaitStrategy(Wait.forHealthCheck())
        .start()
    await using workers = new AsyncDisposableStack()
    const started = await Promise.all(Array.from({ length: WORKERS }, async () => workers.use(await start())))

    const emails = Array.from({ length: MAILS }, (_, index) => `ada${index}@example.com`)
    const rest = emails.values()
    const begun = performance.now()
    await Promise.all(
      Array.from({ length: CONCURRENT_REQUESTS }, async () => {
        for (const email of rest) await producer.request(email)
      }),
    )
    await expect.poll(() => mailbox.mails.length, { timeout: 300_000 }).toBeGreaterThanOrEqual(MAILS)
    const seconds = (performance.now() - begun) / 1000

    const sent = () => Promise.all(started.map(countSent))
    const sum = async () => (await sent()).reduce((total, count) => total + count, 0)
    await expect.poll(sum, { timeout: 30_000 }).toBe(MAILS)
    expect(mailbox.mails.map((mail) => mail.to?.[0]?.address).sort()).toEqual(emails.sort())
    const counts = await sent()
    console.log(`${MAILS} mails in ${seconds.toFixed(1)} s, ${counts.join(' / ')} by worker`)
    // The share of each depends on the processor time that it gets; a worker without a share would have no mail.
    for (const count of counts) expect(count).toBeGreaterThan(MAILS / WORKERS / 10)
  }, 400_000)
})

async function countSent(worker: StartedTestContainer): Promise<number> {
  const url = `http://${worker.getHost()}:${worker.getMappedPort(METRICS_PORT)}/metrics`
  const text = await (await fetch(url)).text()
  return Number(/^latchkey_mail_sent_total (\d+)/m.exec(text)?.[1])
}
