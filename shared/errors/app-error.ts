/** Every failure that a caller may see. The edge decides how each looks on the wire. */
export type ErrorCode =
  | 'invalid_credentials'
  | 'invalid_token'
  | 'token_not_refreshable'
  | 'insufficient_user_authentication'
  | 'second_factor_required'
  | 'foreign_origin'
  | 'account_banned'
  | 'email_unconfirmed'
  | 'forbidden'
  | 'email_taken'
  | 'username_taken'
  | 'invalid_input'
  | 'reset_refused'
  | 'password_refused'
  | 'second_factor_refused'
  | 'password_exposed'
  | 'passkey_refused'
  | 'challenge_refused'
  | 'last_factor'
  | 'last_admin'
  | 'too_many_factors'
  | 'factor_not_found'
  | 'wrong_password'
  | 'email_change_refused'
  | 'signup_refused'
  | 'login_code_refused'
  | 'session_not_found'
  | 'provider_not_found'
  | 'exchange_refused'
  | 'login_incomplete'
  | 'identity_refused'
  | 'identity_unknown'
  | 'identity_taken'
  | 'identity_not_found'
  | 'last_way_in'
  | 'rate_limited'
  | 'overloaded'
  | 'unavailable'

/** The cases of a code after which the caller does something else than after the others. */
export type ErrorReason =
  | 'token_missing'
  | 'refresh_token_misplaced'
  | 'two_tokens'
  | 'json_missing'
  | 'user_gone'
  | 'factor_missing'
  | 'guard_changed'
  | 'challenge_exhausted'
  | 'password_missing'
  | 'domain_refused'
  | 'no_factor'
  | 'code_missing'
  | 'app_code_wrong'
  | 'recovery_code_wrong'
  | 'enrolment_missing'
  | 'foreign_page'
  | 'passkey_invalid'
  | 'passkey_unknown'
  | 'passkey_missing'
  | 'passkey_copied'
  | 'passkey_certified'
  | 'user_unverified'
  | 'account_exists'
  | 'address_unconfirmed'
  | 'username_missing'

export interface AppErrorOptions {
  reason?: ErrorReason
  cause?: unknown
  /** Extension members of the problem (RFC 9457 §3.2), for example `violations`. */
  details?: Record<string, unknown>
  /** The time after which to try again, in seconds. */
  retryAfterSeconds?: number
  /** The check of `/health/ready` that watches what is unavailable. */
  dependency?: string
  /** The state that the check reports because of this failure, if it is known. */
  state?: string
}

/** A failure with a stable code and a message that says what is wrong. The edge adds what to do. The cause is for the log only. */
export class AppError extends Error {
  readonly code: ErrorCode
  readonly reason: ErrorReason | undefined
  readonly details: Record<string, unknown>
  readonly retryAfterSeconds: number | undefined
  readonly dependency: string | undefined
  readonly state: string | undefined

  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, { cause: options.cause })
    this.name = 'AppError'
    this.code = code
    this.reason = options.reason
    this.details = options.details ?? {}
    this.retryAfterSeconds = options.retryAfterSeconds
    this.dependency = options.dependency
    this.state = options.state
  }
}

/** The message of anything that was thrown. */
export const errorMessage = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
