import { AppError } from '../errors/app-error.ts'
import { rootReason } from '../errors/root-reason.ts'
import type { Clock } from '../time/clock.ts'

/** The failures of what a dependency was asked for. */
export interface Failed {
  /** Failures since the process started. */
  count: number
  /** The state that the check reports because of the newest failure. */
  state: string
  /** The reason of the newest failure, for the log and never for a response. */
  reason: string
  /** The moment of the newest one. */
  at: number
}

export type DependencyFailures = ReturnType<typeof createDependencyFailures>

/** Counts the requests and mails that fail because of a dependency. A server with a full disk still passes its check. */
export function createDependencyFailures(localNow: Clock) {
  const known = new Map<string, Failed>()
  /** Counts one failure of `dependency`, which has the name of its check. */
  function report(dependency: string, error: unknown): void {
    const count = (known.get(dependency)?.count ?? 0) + 1
    const state = (error instanceof AppError && error.state) || 'failing'
    known.set(dependency, { count, state, reason: rootReason(error), at: localNow() })
  }
  return {
    report,
    /** Counts a failure of the dependency that the error names; returns false for an error that names none. */
    reportNamed(error: unknown): boolean {
      if (!(error instanceof AppError && error.dependency)) return false
      report(error.dependency, error)
      return true
    },
    /** Forgets the newest failure, but not the count: what `dependency` was asked for succeeds again. */
    recover(dependency: string): void {
      const failed = known.get(dependency)
      if (failed) known.set(dependency, { ...failed, at: Number.NEGATIVE_INFINITY })
    },
    of: (dependency: string): Failed =>
      known.get(dependency) ?? { count: 0, state: 'ok', reason: '', at: Number.NEGATIVE_INFINITY },
  }
}
