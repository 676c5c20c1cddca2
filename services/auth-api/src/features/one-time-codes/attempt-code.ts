import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { type RequestEvent, reportRefusal } from '../../audit/request-audit.ts'
import type { Client } from '../../http/client.ts'
import type { LimitFailures } from '../../limits/failure-limiter.ts'

/**
 * Runs an attempt to use a code or a token of a mail, within the limit of wrong ones. Reports the event of `refusal` when the
 * attempt throws its code. Throws `rate_limited`, `overloaded`, and what the attempt throws.
 */
export type AttemptCode = <Result>(
  client: Client,
  account: string,
  refusal: RequestEvent & { code: ErrorCode },
  attempt: () => Promise<Result>,
) => Promise<Result>

/** Creates the function that every use of a mailed code passes. */
export const createAttemptCode =
  (limitCodes: LimitFailures): AttemptCode =>
  ({ request, audit }, account, refusal, attempt) =>
    limitCodes(request, account, () => reportRefusal(audit, refusal, attempt))
