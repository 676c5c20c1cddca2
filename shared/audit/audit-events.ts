/** An event as the audit trail keeps it. */
interface EventKind {
  /** One sentence. */
  readonly description: string
  /** Anybody can cause it, as often as requests are answered: without a password, a token or a code. */
  readonly isOpen?: true
}

/** Every event of the audit trail, by its name. Names are stable: programs may depend on them. */
export const AUDIT_EVENTS = {
  'login.succeeded': { description: 'A login succeeded.' },
  'login.refused': {
    description:
      'A login was refused; `reason` is `unknown_user`, `deleted_user` or `wrong_password`, or `account_banned` or `email_unconfirmed` after the right credentials.',
    isOpen: true,
  },
  'login_code.requested': {
    description: 'A code to log in with was requested; without a user if the e-mail is unknown.',
    isOpen: true,
  },
  'login_code.refused': { description: 'The code of a login by mail was refused.', isOpen: true },
  'second_factor.required': {
    description: 'The password or the mailed code of a login was right, and a second factor is asked for.',
  },
  'second_factor.refused': { description: 'A code of a second factor, or a recovery code, was refused.' },
  'token.stepped_up': { description: 'A token was stepped up by a second factor.' },
  'passkey.refused': {
    description: 'A passkey was refused; the user is the one that it named, or that had sent the password.',
    isOpen: true,
  },
  'passkey.copied': {
    description: 'A passkey was refused: its signature counter went back, so there may be a copy of it.',
  },
  'factor.added': { description: 'A second factor was added; `reason` is its kind.' },
  'factor.removed': { description: 'The owner removed a second factor; `reason` is its kind.' },
  'factors.removed': {
    description: 'An admin removed every second factor, for this `reason`.',
  },
  'recovery_code.used': { description: 'A recovery code was used in place of a second factor.' },
  'recovery_codes.renewed': { description: 'New recovery codes replaced the old ones.' },
  'token.refreshed': { description: 'A token was exchanged for a new one.' },
  'token.reused': {
    description: 'A token was refreshed again after its successor was used, which ended the session.',
  },
  'session.logged_out': { description: 'A user logged out.' },
  'session.ended': { description: 'A user ended one of their sessions.' },
  'sessions.logged_out': {
    description: 'A user was logged out everywhere; `reason` is `admin` if an admin did it.',
  },
  'reset.requested': {
    description: 'A password reset was requested; without a user if the e-mail is unknown.',
    isOpen: true,
  },
  'reset.confirmed': { description: 'The code of a password reset was confirmed.' },
  'reset.refused': {
    description: 'A code or a token of a password reset was refused; `reason` is `code` or `token`.',
    isOpen: true,
  },
  'password.reset': { description: 'The password was changed by a reset.' },
  'password.changed': {
    description: 'The owner changed the password, or an admin if `reason` is `admin`.',
  },
  'current_password.refused': { description: 'The current password of a logged-in client was wrong.' },
  'email.change_requested': { description: 'A code to confirm a new e-mail was requested.' },
  'email.change_refused': { description: 'The code of a change of e-mail was refused.' },
  'email.changed': { description: 'The e-mail was changed.' },
  'username.changed': { description: 'The owner changed the username.' },
  'role.changed': { description: 'An admin changed the role.' },
  'signup.requested': {
    description: 'A sign-up was requested, with a free or a taken e-mail; without a user.',
    isOpen: true,
  },
  'signup.refused': { description: 'The code of a sign-up was refused; without a user.', isOpen: true },
  'signup.confirmed': { description: 'The code of a sign-up was confirmed: the user exists.' },
  'identity.signed_up': {
    description: 'A login with an identity provider created the user; `reason` is the provider.',
  },
  'identity.added': {
    description: 'An identity was added to the account; `reason` is the provider.',
  },
  'identity.removed': {
    description:
      'An identity was removed from the account, by its owner or an admin; `reason` is the provider.',
  },
  'identity.refused': {
    description:
      'A login with an identity provider failed; `reason` is `access_denied`, `provider_failed`, `login_expired` or `code`; without a user.',
    isOpen: true,
  },
  'account.created': { description: 'An admin created the user; an import of users is not recorded.' },
  'account.deleted': {
    description: 'The owner deleted the account, or an admin if `reason` is `admin`.',
  },
  'account.erased': {
    description:
      'An admin erased everything of the person. The events of erased users lose their user, address and request.',
  },
  'account.restored': { description: 'An admin reverted the deletion of the user.' },
  'account.banned': { description: 'An admin banned the user, for this `reason`.' },
  'account.unbanned': { description: 'An admin ended the ban of the user.' },
  'new_client.noticed': {
    description: 'A login came from a new client: a mail tells the user, if there is an address.',
  },
  'failed_logins.noticed': {
    description:
      'A mail told the user of many refused logins; for an unknown name with a random user id and no mail.',
    isOpen: true,
  },
  'failed_factors.noticed': {
    description: 'A mail told the user of several second factors that were refused after the right password.',
  },
  'limit.reached': {
    description:
      'A request was refused with 429; `reason` is its method and route, or `unmatched`. The user is that of a valid token.',
    isOpen: true,
  },
} as const satisfies Record<string, EventKind>

export type AuditEventName = keyof typeof AUDIT_EVENTS

/** One event, or several equal ones of one minute. It contains no secret, and no name or e-mail of a user. */
export interface AuditEvent {
  name: AuditEventName
  userid?: string | undefined
  /** The client's: an IPv4 address or an IPv6 /64. Absent for what an admin does. */
  address?: string | undefined
  /** The id of the request, as in X-Request-Id. */
  requestId?: string | undefined
  /** Lower-case words, a route or what an admin wrote; never what a client sent. */
  reason?: string | undefined
  /** Default 1. */
  count?: number | undefined
}

/** The `reason` of what an admin does by a command. */
export const BY_ADMIN = 'admin'

/** Returns true for an event that anybody can cause. */
export function isOpenEvent(name: AuditEventName): boolean {
  const kind: EventKind = AUDIT_EVENTS[name]
  return kind.isOpen === true
}
