/** What happened to an account, under a stable name. It contains no secret. */
export interface AccountEvent {
  name:
    | 'session.logged_out'
    | 'sessions.logged_out'
    | 'token.reused'
    | 'password.changed'
    | 'email.change_requested'
    | 'email.changed'
  userid: string
}

/** Reports an event once it is committed. Returns at once and never throws. */
export type ReportEvent = (event: AccountEvent) => void
