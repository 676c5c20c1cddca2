import type { Clock } from '../clock.ts'
import { rootReason } from '../root-reason.ts'

/** Returns `ok`, or in a few words what is missing. May reject, and may hang. */
export type Check = () => Promise<string>

export interface Health {
  isReady: boolean
  checks: Record<string, string>
  /** Why a check failed, if known: for the log, never for a response. */
  reasons: Record<string, string>
}

interface Result {
  outcome: string
  reason?: string
}

export type Readiness = ReturnType<typeof createReadiness>

/** Each check runs at most once in this time, however many probes arrive. */
const CHECK_INTERVAL_MS = 1_000
/** Above the timeout of a queue, below the 5 s of every probe in images and manifests. */
const CHECK_TIMEOUT_MS = 4_000

/** Whether this process can do its work: it has started, is not stopping, and its checks pass. */
export function createReadiness(checks: Readonly<Record<string, Check>>, clock: Clock) {
  let phase: 'starting' | 'serving' | 'draining' = 'starting'
  let last: { at: number; results: Promise<Record<string, Result>> } | undefined

  return {
    async read(): Promise<Health> {
      if (!last || clock() - last.at >= CHECK_INTERVAL_MS) last = { at: clock(), results: runChecks(checks) }
      const results = Object.entries(await last.results)
      const isReady = phase === 'serving' && results.every(([, { outcome }]) => outcome === 'ok')
      const outcomes = Object.fromEntries(results.map(([name, { outcome }]) => [name, outcome]))
      const reasons = Object.fromEntries(
        results.flatMap(([name, { reason }]) => (reason ? [[name, reason]] : [])),
      )
      return { isReady, checks: { service: phase === 'serving' ? 'ok' : phase, ...outcomes }, reasons }
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
 * Repeats a check that has passed only after `validMs`, for checks that are expensive for the server. With `Infinity` a
 * check that has passed once is never repeated.
 */
export function rememberingSuccess(check: Check, validMs: number, clock: Clock): Check {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (clock() - passedAt < validMs) return 'ok'
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
    return { outcome: await Promise.race([check(), tooLate]) }
  } catch (error) {
    return { outcome: 'unreachable', reason: rootReason(error) }
  } finally {
    clearTimeout(timer)
  }
}
