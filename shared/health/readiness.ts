import type { Clock } from '../clock.ts'
import { rootReason } from '../root-reason.ts'

/** Says `ok`, or in a few words what is missing; may reject, and may take its time. */
export type Check = () => Promise<string>

export interface Health {
  isReady: boolean
  checks: Record<string, string>
  /** Why a check failed, where that is known: for the log, not for whoever asks over the network. */
  reasons: Record<string, string>
}

interface Result {
  said: string
  reason?: string
}

export type Readiness = ReturnType<typeof createReadiness>

/** However many probes ask, each check runs once in this time. */
const HOLDS_MS = 1_000
/** Above the time in which a queue gives up, below the 5 s of every probe in images and manifests. */
const CHECK_TIMEOUT_MS = 4_000

/** Whether this process can do its work: it is past its start, not stopping, and its checks pass. */
export function createReadiness(checks: Readonly<Record<string, Check>>, clock: Clock) {
  let phase: 'starting' | 'serving' | 'draining' = 'starting'
  let last: { at: number; results: Promise<Record<string, Result>> } | undefined

  return {
    async read(): Promise<Health> {
      if (!last || clock() - last.at >= HOLDS_MS) last = { at: clock(), results: runChecks(checks) }
      const results = Object.entries(await last.results)
      const isReady = phase === 'serving' && results.every(([, { said }]) => said === 'ok')
      const said = Object.fromEntries(results.map(([name, result]) => [name, result.said]))
      const reasons = Object.fromEntries(
        results.flatMap(([name, { reason }]) => (reason ? [[name, reason]] : [])),
      )
      return { isReady, checks: { service: phase === 'serving' ? 'ok' : phase, ...said }, reasons }
    },
    serve() {
      if (phase === 'starting') phase = 'serving'
    },
    drain() {
      phase = 'draining'
    },
    isDraining: () => phase === 'draining',
  }
}

/**
 * The check, asked again only `holdsMs` after it passed: for a server that others should not be bothered with.
 * `Infinity` asks until it has passed once.
 */
export function rememberingSuccess(check: Check, holdsMs: number, clock: Clock): Check {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock() - passedAt < holdsMs) return 'ok'
    const result = await check()
    if (result === 'ok') passedAt = clock()
    return result
  }
}

async function runChecks(checks: Readonly<Record<string, Check>>): Promise<Record<string, Result>> {
  const entries = Object.entries(checks).map(async ([name, check]) => [name, await runCheck(check)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function runCheck(check: Check): Promise<Result> {
  const { promise: tooLate, resolve } = Promise.withResolvers<string>()
  const timer = setTimeout(() => resolve('no answer'), CHECK_TIMEOUT_MS)
  try {
    return { said: await Promise.race([check(), tooLate]) }
  } catch (error) {
    return { said: 'unreachable', reason: rootReason(error) }
  } finally {
    clearTimeout(timer)
  }
}
