import type { Clock } from '@latchkey/shared/clock.ts'

/** `ok`, or in a few words what is missing. */
export type CheckResult = string

export type Checks = Readonly<Record<string, () => Promise<CheckResult>>>

export interface Health {
  isReady: boolean
  checks: Record<string, CheckResult>
}

export type Readiness = ReturnType<typeof createReadiness>

/** However many probes ask, each check runs once in this time. */
const HOLDS_MS = 1000
const CHECK_TIMEOUT_MS = 2000

/** Whether this process should get requests: it is past its start, not stopping, and its checks pass. */
export function createReadiness(checks: Checks, clock: Clock) {
  let phase: 'starting' | 'serving' | 'draining' = 'starting'
  let last: { at: number; results: Promise<Record<string, CheckResult>> } | undefined

  async function read(): Promise<Health> {
    if (!last || clock() - last.at >= HOLDS_MS) last = { at: clock(), results: runChecks(checks) }
    const results = await last.results
    const isReady = phase === 'serving' && Object.values(results).every((result) => result === 'ok')
    return { isReady, checks: { service: phase === 'serving' ? 'ok' : phase, ...results } }
  }

  return {
    read,
    serve() {
      if (phase === 'starting') phase = 'serving'
    },
    drain() {
      phase = 'draining'
    },
    isDraining: () => phase === 'draining',
  }
}

async function runChecks(checks: Checks): Promise<Record<string, CheckResult>> {
  const entries = Object.entries(checks).map(async ([name, check]) => [name, await runCheck(check)] as const)
  return Object.fromEntries(await Promise.all(entries))
}

async function runCheck(check: () => Promise<CheckResult>): Promise<CheckResult> {
  const { promise: tooLate, resolve } = Promise.withResolvers<CheckResult>()
  const timer = setTimeout(() => resolve('no answer'), CHECK_TIMEOUT_MS)
  try {
    return await Promise.race([check(), tooLate])
  } catch {
    // The reason is for the log of whoever opened the connection; a probe learns that it fails.
    return 'unreachable'
  } finally {
    clearTimeout(timer)
  }
}
