/** Every failure that a caller may be told about. What each looks like on the wire is the edge's business. */
export type ErrorCode =
  | 'invalid_credentials'
  | 'invalid_token'
  | 'token_not_refreshable'
  | 'forbidden'
  | 'email_taken'
  | 'username_taken'
  | 'invalid_input'
  | 'reset_refused'
  | 'password_refused'
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'

export interface AppErrorOptions {
  cause?: unknown
  /** Extension members of the answer (RFC 9457 §3.2), for example `violations`. */
  details?: Record<string, unknown>
  /** When it is worth trying again, in seconds. */
  retryAfterSeconds?: number
}

/** A failure with a stable code and a message that may be shown to the caller; the cause stays inside. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly details: Record<string, unknown>
  readonly retryAfterSeconds: number | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.details = options.details ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
  }
}
