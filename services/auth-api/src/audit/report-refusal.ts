import { AppError, type ErrorCode } from '@latchkey/shared/app-error.ts'
import type { RequestAudit, RequestEvent } from './request-audit.ts'

/** Runs `work`; reports `event` when it throws `code`. */
export async function reportRefusal<Result>(
  audit: Pick<RequestAudit, 'report'>,
  { code, ...event }: RequestEvent & { code: ErrorCode },
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof AppError && error.code === code) audit.report(event)
    throw error
  }
}
