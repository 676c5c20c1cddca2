import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { PASSWORD } from '@latchkey/test-support/a-user.ts'
import { type RunningServices, startServices } from '@latchkey/test-support/running-services.ts'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'

interface Span {
  service: string
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: { key: string; value: { stringValue?: string } }[]
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
  let collector: Awaited<ReturnType<typeof openCollector>>
  let services: RunningServices
  beforeAll(async () => {
    collector = await openCollector()
    const both = {
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
      OTEL_BSP_SCHEDULE_DELAY: '100',
      LOG_LEVEL: 'info',
    }
    services = await startServices(combination, { both })
  })
  afterAll(async () => {
    await services?.[Symbol.asyncDispose]()
    await collector?.[Symbol.asyncDispose]()
  })

  it('follow a reset from the client through the queue to the mail, with statements and lines of the log', async () => {
    const { mailbox, newUser, post, worker } = services
    const user = await newUser()
    const traceId = randomBytes(16).toString('hex')
    const caller = randomBytes(8).toString('hex')
    await post('/login/resetrequest', { email: user.email }, { traceparent: `00-${traceId}-${caller}-01` })
    await expect.poll(() => mailbox.to(user.email)).not.toEqual([])
    const ofTrace = () => collector.spans().filter((span) => span.traceId === traceId)
    // Each process exports on its own schedule, so a child span may arrive first.
    const spanBelow = async (parent: string | undefined, name: string | RegExp) => {
      const found = () =>
        ofTrace().find((span) => span.parentSpanId === parent && span.name.match(name)?.[0] === span.name)
      await expect.poll(found).toBeDefined()
      return found()
    }
    const request = await spanBelow(caller, 'POST /login/resetrequest')
    const added = await spanBelow(request?.spanId, /add mail(?:-\w+)?\.mail/)
    const processed = await spanBelow(added?.spanId, /process mail(?:-\w+)?/)
    expect([request, added, processed].map((span) => span?.service)).toEqual([
      'auth-api',
      'auth-api',
      'mailer-worker',
    ])
    const namesOf = (service: string) =>
      collector
        .spans()
        .flatMap((span) => (span.traceId === traceId && span.service === service ? span.name : []))
    await expect
      .poll(() => namesOf('auth-api'))
      .toEqual(expect.arrayContaining(['user-by-email', 'outbox-insert']))
    await expect
      .poll(() => namesOf('mailer-worker'))
      .toEqual(expect.arrayContaining([expect.stringMatching(/^process mail/), 'send mail', 'outbox-remove']))
    const sent = ofTrace().find(({ name }) => name === 'send mail')
    expect(sent?.attributes).toContainEqual({ key: 'server.address', value: { stringValue: '127.0.0.1' } })
    expect(worker.log()).toContain(`"trace_id":"${traceId}"`)
  })

  it('of an idle worker do not exist', async () => {
    const names = () => collector.spans().map(({ name }) => name)
    // The sweep and the search for jobs of dead workers have run since the start.
    await expect.poll(() => collector.bodies).not.toEqual([])
    expect(
      names().filter((name) =>
        /getNextJob|moveStalledJobsToWait|startStalledCheck|outbox-left-behind/.test(name),
      ),
    ).toEqual([])
  })

  it('hold no e-mail, code, token, password or secret, whatever fails', async () => {
    const { mailbox, newUser, origin, post, secrets, worker } = services
    const [user, refused] = [await newUser(), await newUser()]
    mailbox.answers.set(refused.email, [451, 550])
    const login = await post(`/login?email=${user.email}`, { username: user.email, password: PASSWORD })
    const { token } = login.body
    await fetch(`${origin}/profile?token=${token}`, { headers: { authorization: `Bearer ${token}` } })
    for (const { email } of [user, refused]) await post('/login/resetrequest', { email })
    await post('/login', { username: user.email, password: 'a wrong one' })
    await expect.poll(() => mailbox.to(user.email)).not.toEqual([])
    await expect.poll(() => worker.metric('latchkey_mail_failed_total')).toBeGreaterThan(0)
    const [, first, second] = /\b(\d{3}) (\d{3})\b/.exec(mailbox.to(user.email)[0]?.text ?? '') ?? []
    expect(first).toBeDefined()
    const all = () => collector.bodies.join('\n')
    await expect.poll(() => all()).toContain('550 as the test wants')
    const code = new RegExp(`(?<![0-9a-f.])${first}\\s?${second}(?![0-9a-f])`)
    for (const secret of [user.email, refused.email, 'a wrong one', ...secrets]) {
      expect(all()).not.toContain(secret)
      expect(all()).not.toContain(encodeURIComponent(secret))
    }
    expect(all()).not.toMatch(code)
  })

  it('are the only export, and omit probes', async () => {
    await fetch(`${services.origin}/health/ready`)
    await fetch(`${services.origin}/openapi.json`)
    await expect.poll(() => collector.bodies.join('')).toContain('/openapi.json')
    expect(collector.bodies.join('')).not.toContain('/health/')
    expect([...collector.paths]).toEqual(['/v1/traces'])
  })

  it('do not delay a stop while the collector is unreachable', async () => {
    const { api, worker } = services
    await collector[Symbol.asyncDispose]()
    await fetch(`${services.origin}/openapi.json`)
    await expect.poll(() => api.output()).toContain('traces cannot be collected')
    expect(api.output()).not.toContain('    at ')
    expect(await worker.kill('SIGTERM')).toBe(0)
    api.process.kill('SIGTERM')
    expect(await api.exited).toBe(0)
    collector = await openCollector()
  })
})
