import { setTimeout as wait } from 'node:timers/promises'
import { type ComposeProject, startProject } from '@latchkey/test-support/compose-project.ts'
import { docker, logsOf } from '@latchkey/test-support/images.ts'
import { type Mailbox, openMailbox } from '@latchkey/test-support/mailbox.ts'
import { describe, expect, it, onTestFinished } from 'vitest'

/** The number of times that each container is killed; raised by hand for a longer soak. */
const ROUNDS = Number(process.env.ROUNDS ?? 1)
const REQUESTS_PER_SECOND = 20
const RECOVERY_TIMEOUT_MS = 90_000
const FILES = ['../test-support/faults.compose.yml']

describe('a compose project while its containers are killed', () => {
  it('loses no accepted mail and recovers without help', async () => {
    await using mailbox = await openMailbox('0.0.0.0')
    const project = await startProject({
      files: FILES,
      environment: { MAIL_URL: `smtp://host.docker.internal:${mailbox.port}` },
    })
    const requests = await startRequests(project)
    const faults: Record<string, () => Promise<unknown>> = {
      'redis dies': () => project.crash('redis'),
      'auth-api dies': () => project.crash('auth-api'),
      'redis is flushed': () =>
        project.inside('redis', 'REDISCLI_AUTH=$(cat /run/secrets/password) redis-cli flushall'),
      'mailer-worker dies': () => project.crash('mailer-worker'),
      'postgres dies': () => project.crash('postgres'),
      'redis and mailer-worker die': () =>
        Promise.all([project.crash('redis'), project.crash('mailer-worker')]),
    }
    for (let round = 0; round < ROUNDS; round++) {
      for (const [what, strike] of Object.entries(faults)) {
        await wait(500 + Math.random() * 1_500)
        await strike()
        const { length } = requests.accepted
        await expect
          .poll(() => requests.accepted.length, { timeout: RECOVERY_TIMEOUT_MS, message: what })
          .toBeGreaterThan(length + 10)
      }
    }
    await requests.end()

    const lost = () => requests.accepted.filter((email) => mailbox.to(email).length === 0)
    await expect.poll(lost, { timeout: RECOVERY_TIMEOUT_MS }).toEqual([])
    await expect.poll(() => unhealthy(project), { timeout: RECOVERY_TIMEOUT_MS }).toEqual([])
    expect(repeatsUnderAnotherId(mailbox)).toEqual([])
    const { accepted, refused } = requests
    const addresses = new Set(accepted).size
    console.log(
      `${addresses} mails accepted, ${refused} requests refused, ${mailbox.mails.length} mails arrived (those of refused requests included)`,
    )
  }, 600_000)

  it('loses no mail that MailDev had not yet accepted when it was killed', async () => {
    const project = await startProject({ files: FILES })
    const requests = await startRequests(project)
    for (let round = 0; round < 2 * ROUNDS; round++) {
      await wait(500 + Math.random() * 1_500)
      await project.crash('maildev')
      const { length } = requests.accepted
      await expect
        .poll(() => requests.accepted.length, { timeout: RECOVERY_TIMEOUT_MS })
        .toBeGreaterThan(length + 10)
    }
    await requests.end()

    const [worker = ''] = await project.containersOf('mailer-worker')
    const undelivered = async () => {
      const outbox = await project.inside(
        'postgres',
        'psql -U latchkey -tAc "select count(*) from mail_outbox"',
      )
      return Number(outbox)
    }
    await expect.poll(undelivered, { timeout: RECOVERY_TIMEOUT_MS }).toBe(0)
    // MailDev answers 250 before it writes the mail; a mail lost in between was delivered to it.
    const delivered = (await logsOf(worker)).match(/"msg":"mail sent"/g)?.length ?? 0
    expect(delivered).toBeGreaterThanOrEqual(requests.accepted.length)
    const arrived = new Set(
      (await project.inside('maildev', "grep -h '^To:' /tmp/mails/*.eml")).split(/\r?\n/),
    )
    const lost = requests.accepted.filter((email) => !arrived.has(`To: ${email}`))
    console.log(`${requests.accepted.length} mails accepted, ${lost.length} lost by MailDev after its 250`)
    await expect.poll(() => unhealthy(project), { timeout: RECOVERY_TIMEOUT_MS }).toEqual([])
  }, 300_000)
})

interface Requests {
  /** The e-mails whose reset was answered with 200. */
  accepted: string[]
  refused: number
  end(): Promise<void>
}

/** Requests resets at a steady rate, each for another user, until `end()` or the end of the test. */
async function startRequests({ inside, post }: ComposeProject): Promise<Requests> {
  const emailOf = (index: number) => `ada${index}@example.com`
  await inside(
    'postgres',
    `psql -qU latchkey -c "insert into users (name, email, username, password, role)
      select 'Ada', 'ada' || n || '@example.com', 'ada' || n, 'x', 'user' from generate_series(1, 20000) n"`,
  )
  const pending = new Set<Promise<void>>()
  let isEnding = false
  const requests: Requests = {
    accepted: [],
    refused: 0,
    async end() {
      isEnding = true
      await running
      await Promise.all(pending)
    },
  }

  async function ask(email: string): Promise<void> {
    const { status } = await post('/login/resetrequest', { email }).catch(() => ({ status: 0 }))
    if (status === 200) requests.accepted.push(email)
    else requests.refused++
  }

  async function run(): Promise<void> {
    for (let index = 1; !isEnding; index++) {
      const asking = ask(emailOf(index)).finally(() => pending.delete(asking))
      pending.add(asking)
      await wait(1_000 / REQUESTS_PER_SECOND)
    }
  }
  const running = run()
  onTestFinished(() => requests.end())
  return requests
}

/** The services whose container does not run or is not healthy. */
async function unhealthy({ containersOf }: ComposeProject): Promise<string[]> {
  const services = ['postgres', 'redis', 'maildev', 'auth-api', 'mailer-worker']
  const format = '{{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}'
  const states = await Promise.all(
    services.map(async (service) => {
      const [container = ''] = await containersOf(service)
      return `${service} ${await docker('inspect', '--format', format, container)}`.trim()
    }),
  )
  return states.filter((state) => !/ running( healthy)?$/.test(state))
}

function repeatsUnderAnotherId(mailbox: Mailbox): string[] {
  const idsOf = new Map<string, Set<string | undefined>>()
  for (const mail of mailbox.mails) {
    const address = mail.to?.[0]?.address ?? ''
    idsOf.set(address, (idsOf.get(address) ?? new Set()).add(mail.messageId))
  }
  return [...idsOf].filter(([, ids]) => ids.size > 1 || ids.has(undefined)).map(([address]) => address)
}
