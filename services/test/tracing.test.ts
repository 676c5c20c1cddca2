import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { aUser, PASSWORD } from '../auth-api/test/support/start-app.ts'
import { hasDocker } from './servers/shared-server.ts'
import { addressOf, type Service, startServiceProcess } from './support/auth-api-process.ts'
import { type Servers, startServers } from './support/mail-servers.ts'
import { type Mailbox, openMailbox } from './support/mailbox.ts'
import { openProducer, type Producer } from './support/producer.ts'
import { waitFor } from './support/wait-for.ts'
import { startWorkerProcess, type WorkerProcess } from './support/worker-process.ts'

interface Span {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
}

interface Exported {
  resourceSpans: {
    resource: { attributes: { key: string; value: { stringValue?: string } }[] }
    scopeSpans: { spans: Omit<Span, 'service'>[] }[]
  }[]
}

/** An OTLP/HTTP receiver that keeps every body and every path. */
async function openCollector() {
  const bodies: string[] = []
  const paths = new Set<string>()
  const server = createServer(async (request, response) => {
    paths.add(request.url ?? '')
    bodies.push(await text(request))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    paths,
    spans: (): Span[] =>
      bodies
        .flatMap((body) => (JSON.parse(body) as Exported).resourceSpans)
        .flatMap(({ resource, scopeSpans }) => {
          const name = resource.attributes.find(({ key }) => key === 'service.name')
          return scopeSpans
            .flatMap(({ spans }) => spans)
            .map((span) => ({ ...span, service: name?.value.stringValue ?? '' }))
        }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** One of the project's combinations; the soak has another. */
const COMBINATION = inject('combinations').slice(-1)

describe.skipIf(!hasDocker()).each(COMBINATION)('traces on %s', (combination) => {
  const mailSecret = randomBytes(32).toString('base64')
  let collector: Awaited<ReturnType<typeof openCollector>>
  let servers: Servers
  let mailbox: Mailbox
  let store: Producer
  let api: Service
  let worker: WorkerProcess
  let origin: string

  beforeAll(async () => {
    collector = await openCollector()
    servers = await startServers(combination)
    mailbox = await openMailbox()
    store = await openProducer(servers, Buffer.from(mailSecret, 'base64'))
    const settings = {
      DATABASE_URL: servers.databaseUrl,
      QUEUE_URL: servers.queueUrl,
      MAIL_SECRET: mailSecret,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
    }
    api = startServiceProcess(settings)
    origin = await addressOf(api)
    worker = await startWorkerProcess({ ...settings, MAIL_URL: mailbox.url, OUTBOX_SWEEP: '1' })
    await worker.ready()
  })
  afterAll(async () => {
    await worker?.[Symbol.asyncDispose]()
    await api?.[Symbol.asyncDispose]()
    await store?.[Symbol.asyncDispose]()
    await mailbox?.[Symbol.asyncDispose]()
    await servers?.[Symbol.asyncDispose]()
    await collector?.[Symbol.asyncDispose]()
  })

  const post = (path: string, body: object, headers: Record<string, string> = {}) =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    })
  const newUser = () => aUser({ users: createUserRepository(store.db) })

  it('follow a reset from the client through the queue to the mail', async () => {
    const user = await newUser()
    const traceId = randomBytes(16).toString('hex')
    const caller = randomBytes(8).toString('hex')
    await post('/login/resetrequest', { email: user.email }, { traceparent: `00-${traceId}-${caller}-01` })
    await waitFor(() => mailbox.to(user.email).length > 0)
    const ofTrace = () => collector.spans().filter((span) => span.traceId === traceId)
    // Each process exports on its own schedule, so a child span may arrive first.
    const spanBelow = async (parent: string | undefined, name: string) => {
      const found = () => ofTrace().find((span) => span.parentSpanId === parent && span.name === name)
      await expect.poll(found).toBeDefined()
      return found()
    }
    const request = await spanBelow(caller, 'POST /login/resetrequest')
    const added = await spanBelow(request?.spanId, 'add mail.mail')
    const processed = await spanBelow(added?.spanId, 'process mail')
    expect([request, added, processed].map((span) => span?.service)).toEqual([
      'auth-api',
      'auth-api',
      'mailer-worker',
    ])
  })

  it('name the statements and the mail server, and each line of the log has the trace', async () => {
    const user = await newUser()
    const traceId = randomBytes(16).toString('hex')
    const caller = randomBytes(8).toString('hex')
    await post('/login/resetrequest', { email: user.email }, { traceparent: `00-${traceId}-${caller}-01` })
    const namesOf = (service: string) =>
      collector
        .spans()
        .flatMap((span) => (span.traceId === traceId && span.service === service ? span.name : []))
    await expect
      .poll(() => namesOf('auth-api'))
      .toEqual(expect.arrayContaining(['user-by-email', 'outbox-insert']))
    await expect
      .poll(() => namesOf('mailer-worker'))
      .toEqual(expect.arrayContaining(['process mail', 'send mail', 'outbox-remove']))
    expect(worker.log()).toContain(`"trace_id":"${traceId}"`)
  })

  it('of an idle worker do not exist', async () => {
    const names = () => collector.spans().map(({ name }) => name)
    // The sweep and the search for jobs of dead workers have run since the start.
    await waitFor(() => collector.bodies.length > 0)
    expect(
      names().filter((name) => /getNextJob|moveStalledJobsToWait|startStalledCheck|outbox-due/.test(name)),
    ).toEqual([])
  })

  it('hold no e-mail, code, token, password or secret, whatever fails', async () => {
    const [user, refused] = [await newUser(), await newUser()]
    mailbox.answers.set(refused.email, [451, 550])
    const login = await post(`/login?email=${user.email}`, { username: user.email, password: PASSWORD })
    const { token } = (await login.json()) as { token: string }
    await fetch(`${origin}/profile?token=${token}`, { headers: { authorization: `Bearer ${token}` } })
    const tokens = [token]
    for (const { email } of [user, refused]) {
      const answer = await post('/login/resetrequest', { email })
      tokens.push(((await answer.json()) as { token: string }).token)
    }
    await post('/login', { username: user.email, password: 'a wrong one' })
    await waitFor(() => mailbox.to(user.email).length > 0)
    await waitFor(async () => (await worker.metric('latchkey_mail_failed_total')) > 0, 60_000)
    const [, first, second] = /\b(\d{3}) (\d{3})\b/.exec(mailbox.to(user.email)[0]?.text ?? '') ?? []
    expect(first).toBeDefined()
    const all = () => collector.bodies.join('\n')
    await waitFor(() => all().includes('550 as the test wants'))
    const code = new RegExp(`(?<![0-9a-f.])${first}\\s?${second}(?![0-9a-f])`)
    for (const secret of [user.email, refused.email, ...tokens, PASSWORD, 'a wrong one', mailSecret]) {
      expect(all()).not.toContain(secret)
      expect(all()).not.toContain(encodeURIComponent(secret))
    }
    expect(all()).not.toMatch(code)
  })

  it('are the only export, and omit probes', async () => {
    await fetch(`${origin}/health/ready`)
    await fetch(`${origin}/openapi.json`)
    await waitFor(() => collector.bodies.join('').includes('/openapi.json'))
    expect(collector.bodies.join('')).not.toContain('/health/')
    expect([...collector.paths]).toEqual(['/v1/traces'])
  })

  it('do not delay a stop while the collector is unreachable', async () => {
    await collector[Symbol.asyncDispose]()
    await fetch(`${origin}/openapi.json`)
    await waitFor(() => api.output().includes('traces cannot be collected'))
    expect(api.output()).not.toContain('    at ')
    expect(await worker.kill('SIGTERM')).toBe(0)
    api.process.kill('SIGTERM')
    expect(await api.exited).toBe(0)
    collector = await openCollector()
  })
})
