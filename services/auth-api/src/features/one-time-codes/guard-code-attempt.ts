import type { ErrorCode } from '@latchkey/shared/errors/app-error.ts'
import { type RequestEvent, reportRefusal } from '../../audit/request-audit.ts'
import type { Core } from '../../core.ts'
import type { Client } from '../../http/client.ts'

/** An attempt to use a code or a token of a mail, and the event of its refusal. */
export interface CodeAttempt extends RequestEvent {
  /** The e-mail or the user id whose attempts are counted together. */
  account: string
  /** The error of a wrong code. */
  code: ErrorCode
}

/**
 * Runs an attempt to use a code or a token of a mail, within the limit of wrong ones, and reports its refusal. Throws
 * `rate_limited`, `overloaded`, and what the attempt throws.
 */
export const guardCodeAttempt = <Result>(
  { limitCodes }: Pick<Core, 'limitCodes'>,
  client: Client,
  { account, ...refusal }: CodeAttempt,
  attempt: () => Promise<Result>,
): Promise<Result> => limitCodes(client, account, () => reportRefusal(client.audit, refusal, attempt))
