import { AppError } from '../errors/app-error.ts'
import { rootReason } from '../errors/root-reason.ts'
import type { Clock } from '../time/clock.ts'
import { createDependencyFailures, type DependencyFailures } from './dependency-failures.ts'

/** Returns `ok`, or in a few words what is missing. May reject, and may hang. */
export type Check = () => Promise<string | Result>

export interface Health {
  isReady: boolean
  /** Ready, but a dependency is unavailable without which most requests succeed, or some requests fail. */
  isDegraded: boolean
  /** `service` is `starting`, `ok`, `degraded` or `draining`; each dependency is `ok`, or in a few words what is wrong. */
  checks: Record<string, string>
  /** The reason of a failed check, if known: for the log, never for a response. */
  reasons: Record<string, string>
  /** The number of requests or mails that failed because of each dependency since the process started. */
  failures: Record<string, number>
}

export interface ReadinessOptions {
  localNow: Clock
  /** The checks without which the process is ready all the same, and degraded. Default: none. */
  optional?: Readonly<Record<string, Check>>
  /** The time that an optional check may take, in milliseconds. Default 1,000. */
  optionalTimeoutMs?: number
  /** The failures that are reported under the name of a check. */
  failures?: DependencyFailures
  /** The time for which one failure degrades the process, in milliseconds. Default 10,000. */
  failureHoldsMs?: number
}

interface Result {
  outcome: string
  reason?: string
  /** True where the process is ready all the same, since the dependency serves some requests. */
  isServing?: boolean
}

type Results = Record<string, Result>

export type Readiness = ReturnType<typeof createReadiness>

/** Time in which each check runs at most once, however many probes arrive. */
const CHECK_INTERVAL_MS = 1_000
/** It is longer than the timeout of a queue, and shorter than the 5 s of every probe in images and manifests. */
const CHECK_TIMEOUT_MS = 4_000
/** A probe must not fail because of a check that it can do without: the proxy of docker compose waits 3 s. */
const OPTIONAL_CHECK_TIMEOUT_MS = 1_000
/** A few failed requests in a minute are one outage in the log. */
const FAILURE_HOLDS_MS = 10_000

/** Creates the check whether this process can do its work: it has started, is not stopping, and its required checks pass. */
export function createReadiness(
  required: Readonly<Record<string, Check>>,
  {
    localNow,
    optional = {},
    optionalTimeoutMs = OPTIONAL_CHECK_TIMEOUT_MS,
    failures = createDependencyFailures(localNow),
    failureHoldsMs = FAILURE_HOLDS_MS,
  }: ReadinessOptions,
) {
  let phase: Phase = 'starting'
  let last: { at: number; results: Promise<Results> } | undefined
  const failedBefore = new Set<string>()
  const lastFailures = new Map<string, Result>()
  const recoveredAt: Record<string, number> = {}

  async function runChecks(): Promise<Results> {
    const results = await Promise.all([
      runEach(required, CHECK_TIMEOUT_MS, lastFailures),
      runEach(optional, optionalTimeoutMs, lastFailures),
    ])
    return Object.fromEntries(results.flat().map(([name, result]) => [name, addFailures(name, result)]))
  }

  /** A server with a full disk passes its check, and requests fail. Those that failed before it was back say nothing. */
  function addFailures(name: string, result: Result): Result {
    if (result.outcome !== 'ok') {
      if (!result.isServing) failedBefore.add(name)
      return result
    }
    if (failedBefore.delete(name)) recoveredAt[name] = localNow()
    const { at, state, reason } = failures.of(name)
    const isFailing =
      at > (recoveredAt[name] ?? Number.NEGATIVE_INFINITY) && isRecent(at, failureHoldsMs, localNow)
    return isFailing ? { outcome: state, reason, isServing: true } : result
  }

  return {
    async read(): Promise<Health> {
      if (!last || !isRecent(last.at, CHECK_INTERVAL_MS, localNow))
        last = { at: localNow(), results: runChecks() }
      const results = await last.results
      const counts = Object.keys(results).map((name) => [name, failures.of(name).count])
      return { ...toHealth(phase, results, optional), failures: Object.fromEntries(counts) }
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

type Phase = 'starting' | 'serving' | 'draining'

/** Concludes from the results of the checks whether the process can serve. A failed optional check only degrades it. */
function toHealth(
  phase: Phase,
  results: Results,
  optional: Readonly<Record<string, Check>>,
): Omit<Health, 'failures'> {
  const named = Object.entries(results)
  const isReady =
    phase === 'serving' &&
    named.every(([name, { outcome, isServing }]) => outcome === 'ok' || isServing || name in optional)
  const isDegraded = isReady && named.some(([, { outcome }]) => outcome !== 'ok')
  const service = phase === 'serving' ? (isDegraded ? 'degraded' : 'ok') : phase
  return {
    isReady,
    isDegraded,
    checks: { service, ...Object.fromEntries(named.map(([name, { outcome }]) => [name, outcome])) },
    reasons: Object.fromEntries(named.flatMap(([name, { reason }]) => (reason ? [[name, reason]] : []))),
  }
}

/** Repeats a check that has passed only after `validMs`, for checks that are expensive for the server. */
export function rememberingSuccess(check: Check, validMs: number, localNow: Clock): Check {
  let passedAt = Number.NEGATIVE_INFINITY
  return async () => {
    if (isRecent(passedAt, validMs, localNow)) return 'ok'
    const result = await check()
    if (result === 'ok') passedAt = localNow()
    return result
  }
}

/** True where a time is less than `ms` ago. A clock that is set back keeps no old result: the time is then in the future. */
const isRecent = (at: number, ms: number, localNow: Clock): boolean => Math.abs(localNow() - at) < ms

const runEach = (
  checks: Readonly<Record<string, Check>>,
  timeoutMs: number,
  lastFailures: Map<string, Result>,
): Promise<[string, Result][]> =>
  Promise.all(
    Object.entries(checks).map(async ([name, check]): Promise<[string, Result]> => {
      const { promise: late, resolve } = Promise.withResolvers<undefined>()
      const timer = setTimeout(resolve, timeoutMs, undefined)
      const ended = runCheck(check)
      void ended.then((result) =>
        result.outcome === 'ok' || result.isServing
          ? lastFailures.delete(name)
          : lastFailures.set(name, result),
      )
      const inTime = await Promise.race([ended, late])
      clearTimeout(timer)
      // A slow check fails after its time is over. The next one that is late then has its reason.
      return [name, inTime ?? lastFailures.get(name) ?? { outcome: 'no answer' }]
    }),
  )

async function runCheck(check: Check): Promise<Result> {
  try {
    const found = await check()
    return typeof found === 'string' ? { outcome: found } : found
  } catch (error) {
    const state = error instanceof AppError ? error.state : undefined
    return { outcome: state ?? 'unreachable', reason: rootReason(error) }
  }
}
