import type { Clock } from '@latchkey/shared/clock.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import type { Registry } from 'prom-client'

/** Rejects, or says in a few words what is missing; `ok` otherwise. */
export type Check = () => Promise<string>

export interface Health {
  isReady: boolean
  checks: Record<string, string>
}

export type Readiness = ReturnType<typeof createReadiness>

/** However many probes ask, each check runs once in this time. */
const HOLDS_MS = 2_000
const CHECK_TIMEOUT_MS = 4_000

/** Whether this worker can send mail: its checks pass, and it is not stopping. */
export function createReadiness(checks: Readonly<Record<string, Check>>, clock: Clock) {
  let isDraining = false
  let last: { at: number; results: Promise<Record<string, string>> } | undefined

  return {
    async read(): Promise<Health> {
      if (!last || clock() - last.at >= HOLDS_MS) last = { at: clock(), results: runChecks(checks) }
      const results = await last.results
      const isReady = !isDraining && Object.values(results).every((result) => result === 'ok')
      return { isReady, checks: { service: isDraining ? 'draining' : 'ok', ...results } }
    },
    drain() {
      isDraining = true
    },
  }
}

/** The check, asked again only `holdsMs` after it passed: for a server that others should not be bothered with. */
export function rememberingSuccess(check: Check, holdsMs: number, clock: Clock): Check {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock() - passedAt < holdsMs) return 'ok'
    const result = await check()
    if (result === 'ok') passedAt = clock()
    return result
  }
}

/** Serves `/health/live`, `/health/ready` and `/metrics`; for the cluster, never for clients. */
export function buildHealthServer(readiness: Pick<Readiness, 'read'>, registry: Registry): FastifyInstance {
  const server = Fastify({ forceCloseConnections: true })
  server.get('/health/live', async () => ({ status: 'ok', checks: {} }))
  server.get('/health/ready', async (_request, reply) => {
    const { isReady, checks } = await readiness.read()
    if (isReady) return { status: 'ok', checks }
    return reply
      .code(503)
      .header('retry-after', '1')
      .type('application/problem+json')
      .send({ type: 'urn:latchkey:problem:unavailable', title: 'Not ready', status: 503, checks })
  })
  server.get('/metrics', async (_request, reply) =>
    reply.type(registry.contentType).send(await registry.metrics()),
  )
  return server
}

async function runChecks(checks: Readonly<Record<string, Check>>): Promise<Record<string, string>> {
  const entries = Object.entries(checks).map(async ([name, check]) => [name, await runCheck(check)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function runCheck(check: Check): Promise<string> {
  const { promise: tooLate, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('no answer'), CHECK_TIMEOUT_MS)
  try {
    return await Promise.race([check(), tooLate])
  } catch {
    return 'unreachable'
  } finally {
    clearTimeout(timer)
  }
}
