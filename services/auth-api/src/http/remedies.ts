import type { AppError, ErrorCode, ErrorReason } from '@latchkey/shared/errors/app-error.ts'

type Text = string | ((error: AppError) => string)

/** The remedies of an error, by who has to act. */
export interface Remedy {
  /** The user: pages show it. */
  user?: Text
  /** The author of the client: it names routes and members of a request. */
  client?: Text
  /** The operator: it names settings, and goes to the log only. */
  operator?: string
}

/**
 * The remedies of each error, by its reason or its code. The core says only what is wrong: it knows neither the routes nor the
 * settings, nor who reads the answer. Every reason has a remedy of its own; a code may have none.
 */
const REMEDIES: Partial<Record<ErrorCode, Remedy>> & Record<ErrorReason, Remedy> = {
  invalid_token: { user: 'log in again' },
  token_missing: { client: 'send it as Authorization: Bearer <token>' },
  refresh_token_misplaced: { client: 'send it as refresh_token in a JSON body' },
  two_tokens: { client: 'send one of them' },
  json_missing: { client: 'send {} as application/json' },
  foreign_origin: {
    client: 'call it from a page of this service, or from one of an origin in CORS_ORIGINS',
    operator: 'where the refused page is one of yours, add its origin to CORS_ORIGINS',
  },
  user_gone: { user: 'log in as another user' },
  token_not_refreshable: { client: 'try again then' },
  insufficient_user_authentication: { client: 'confirm it by POST /login/stepup, or log in again' },
  factor_missing: { client: 'confirm it by POST /login/stepup, or add one first' },
  guard_changed: { client: 'confirm the login by POST /login/stepup, and try again' },
  second_factor_required: {
    client:
      'send the challenge and a code to POST /login/secondfactor, or get the options of a passkey for it',
  },
  password_exposed: {
    client: 'set a new one by POST /login/resetrequest, or use a recovery code or a passkey',
  },
  account_banned: {
    user: ({ details: { banned_until: until } }) =>
      until === undefined ? 'ask the support' : `try again after ${until}`,
  },
  email_unconfirmed: {
    user: 'set a new password: the code of its mail confirms the address',
    client: 'POST /login/resetrequest sends it',
  },
  challenge_refused: { user: 'begin again' },
  challenge_exhausted: { user: 'log in again' },
  too_many_factors: { user: 'remove one first' },
  last_factor: { user: 'add another one before you remove this one' },
  last_admin: { user: 'give the role to another user first' },
  factor_not_found: { client: 'GET /profile/factors lists them' },
  no_factor: { user: 'add one first' },
  code_missing: { user: 'send one of your second factor, or a recovery code' },
  app_code_wrong: { user: 'send the next one, and check the clock of your device' },
  recovery_code_wrong: { user: 'send another one' },
  enrolment_missing: { user: 'request a new secret' },
  foreign_page: {
    user: 'open one of these pages',
    operator: 'where the refused page is one of yours, add its origin to PASSKEY_ORIGINS',
  },
  passkey_invalid: { user: 'try again' },
  passkey_unknown: { user: 'log in another way, and add it then' },
  passkey_missing: { user: 'use another factor' },
  passkey_copied: { user: 'log in another way, and remove the passkey' },
  passkey_certified: { client: 'create it with the attestation "none"' },
  user_unverified: { user: 'log in with the password, and use it then' },
  password_missing: { client: 'send it as current_password' },
  reset_refused: { user: 'try again, or request a new code' },
  email_change_refused: { user: 'try again, or change the e-mail again' },
  login_code_refused: { user: 'try again, or request a new code' },
  signup_refused: { user: 'try again, or sign up again' },
  domain_refused: { user: 'use another address' },
  provider_not_found: { client: 'GET /login/with lists them' },
  exchange_refused: { user: 'log in again' },
  account_exists: {
    user: 'log in to it as before, and then add the provider; or confirm a code that is mailed to the address',
    client: 'send the ticket to POST /profile/identities, or to POST /login/exchange/code',
  },
  address_unconfirmed: {
    user: 'confirm a code that is mailed to it',
    client:
      'send the ticket to POST /login/exchange/code, and with the code to POST /login/exchange/complete',
  },
  username_missing: {
    user: 'choose a username',
    client: 'send it with the ticket to POST /login/exchange/complete',
  },
  identity_refused: { user: 'ask the support of the service' },
  identity_unknown: { user: 'log in another way, and add the provider then' },
  identity_taken: { user: 'remove it there first' },
  identity_not_found: { client: 'GET /profile/identities lists them' },
  last_way_in: { user: 'set a password, or add another identity or a passkey, before you remove this one' },
  session_not_found: { client: 'GET /sessions lists them' },
  overloaded: { user: 'try again shortly' },
  rate_limited: {
    user: ({ retryAfterSeconds: seconds = 1 }) =>
      `try again in ${seconds === 1 ? 'a second' : `${seconds} seconds`}`,
  },
}

export const findRemedy = ({ code, reason }: AppError): Remedy => REMEDIES[reason ?? code] ?? {}

/** Says what is wrong and what to do about it, for the answer to a client. */
export function describeError(error: AppError): string {
  const { user, client } = findRemedy(error)
  const steps = [user, client].map((text) => (typeof text === 'function' ? text(error) : text))
  return [error.message, ...steps].filter(Boolean).join('; ')
}
