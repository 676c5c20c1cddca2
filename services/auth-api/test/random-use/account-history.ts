import { hash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { expect } from 'vitest'
import { type Exchange, SETTINGS } from './killed-replicas.ts'

/** When something happened, in milliseconds since the epoch: between two moments, or perhaps never where `to` is Infinity. */
export interface Moment {
  readonly from: number
  readonly to: number
}

/** A login with its refreshes. */
interface Session {
  ended: Moment | undefined
}

export interface HeldToken {
  readonly jwt: string
  readonly session: Session
  readonly authTime: number
  /** Milliseconds since the epoch. */
  readonly expiresAt: number
  ended: Moment | undefined
  refreshed: Moment | undefined
}

/** What the database has of an account. */
export interface AccountRow {
  name: string
  email: string
  passwordHash: string
  role: string
  language: string | undefined
  isDeleted: boolean
  /** The valid-from mark: it grows whenever all tokens are ended. */
  mark: number
  unusedResets: number
  /** The addresses of changes that are neither used nor replaced. */
  unusedChanges: string[]
}

export interface HeldReset {
  /** Undefined where the response with it was lost. */
  token: string | undefined
  readonly code: string
  /** When it was requested, at the earliest. */
  readonly since: number
  attempts: number
  isConfirmed: boolean
}

export interface HeldChange {
  readonly email: string
  /** Undefined where the address belongs to another user, and where the mail was lost. */
  readonly code: string | undefined
  /** When it was requested, at the earliest. */
  readonly since: number
  attempts: number
}

export interface Verdict {
  mayAdmit: boolean
  mayRefuse: boolean
}

/** How long a refreshed token stays valid. */
const GRACE_MS = 10_000
const TTL_MS = SETTINGS.RESET_TTL * 1000
const CACHE_MS = SETTINGS.REVOCATION_CACHE * 1000

export type AccountHistory = ReturnType<typeof createAccountHistory>

/** What one user did, and what follows from it. Its own requests come one after the other. */
export function createAccountHistory(given: {
  userid: string
  username: string
  email: string
  password: string
  role: string
}) {
  const lines: string[] = []
  /** While the user was deleted, or had another role. */
  const deletions: Moment[] = []
  const roles: { role: string; until: number }[] = []

  return {
    ...given,
    oldPasswords: [] as string[],
    name: 'Ada',
    language: undefined as string | undefined,
    mark: 0,
    unusedResets: 0,
    /** Requests for a reset whose response was lost: each may have stored one. */
    lostResets: 0,
    tokens: [] as HeldToken[],
    reset: undefined as HeldReset | undefined,
    change: undefined as HeldChange | undefined,
    lines,

    note: (line: string): void => void lines.push(`${new Date().toISOString()} ${line}`),

    hold(jwt: string, session: Session = { ended: undefined }): void {
      const { auth_time, exp } = decodeJwt<{ auth_time: number }>(jwt)
      const token = { jwt, session, authTime: auth_time, expiresAt: (exp ?? 0) * 1000 }
      this.tokens.push({ ...token, ended: undefined, refreshed: undefined })
    },

    endTokens(when: Moment, except?: HeldToken): void {
      for (const token of this.tokens) if (token !== except) token.ended = earlier(token.ended, when)
    },

    /** Forgets tokens that have expired for some time. */
    forgetExpired(): void {
      const oldest = Date.now() - 10_000
      this.tokens = this.tokens.filter(({ expiresAt }) => expiresAt > oldest)
    },

    setRole(role: string): void {
      roles.push({ role: this.role, until: Date.now() })
      this.role = role
    },

    /** The roles that a replica may know. */
    rolesAt: ({ sentAt }: Exchange, current: string): string[] => [
      current,
      ...roles.filter(({ until }) => sentAt - until <= CACHE_MS).map(({ role }) => role),
    ],

    wasDeleted: (when: Moment): void => void deletions.push(when),

    /**
     * What a replica may say to a token. `exact` where it asks the database; elsewhere it may remember what was true
     * REVOCATION_CACHE ago.
     */
    verdictOn(token: HeldToken, exchange: Exchange, { exact }: { exact: boolean }): Verdict {
      const cacheMs = exact ? 0 : CACHE_MS
      const ends = [
        { from: token.expiresAt, to: token.expiresAt },
        later(token.ended, cacheMs),
        later(token.session.ended, cacheMs),
        later(token.refreshed, GRACE_MS + cacheMs, GRACE_MS),
      ].filter((end) => end !== undefined)
      const wasDeleted = deletions.some(
        ({ from, to }) => from <= exchange.receivedAt && exchange.sentAt <= to + CACHE_MS,
      )
      return {
        mayAdmit: !ends.some(({ to }) => exchange.sentAt > to),
        mayRefuse: wasDeleted || ends.some(({ from }) => exchange.receivedAt >= from),
      }
    },

    /** Whether the use of a token may have been noticed as the use of a refreshed one. */
    mayBeReused: ({ refreshed }: HeldToken, { receivedAt }: Exchange): boolean =>
      refreshed !== undefined && receivedAt >= refreshed.from + GRACE_MS,

    /** Compares what is stored with what the history says, or with what a change makes of it. */
    expectRow(found: AccountRow, changed: Partial<AccountRow> = {}): void {
      const expected = { ...this.row(), ...changed }
      const { unusedResets } = expected
      expect({ ...found, unusedResets }, 'what is stored').toEqual(expected)
      expect(found.unusedResets, 'unused resets').toBeGreaterThanOrEqual(unusedResets)
      expect(found.unusedResets, 'unused resets').toBeLessThanOrEqual(unusedResets + this.lostResets)
    },

    row(): AccountRow {
      const { name, email, role, language, mark, unusedResets } = this
      const passwordHash = hash('sha1', this.password)
      const unusedChanges = this.change ? [this.change.email] : []
      return {
        name,
        email,
        passwordHash,
        role,
        language,
        mark,
        unusedResets,
        unusedChanges,
        isDeleted: false,
      }
    },
  }
}

/** Whether a code is valid until a request with it is answered. */
export const isFresh = ({ since }: HeldReset | HeldChange): boolean => Date.now() < since + TTL_MS / 2

/** Whether a profile shows the change of e-mail. */
export const isPending = ({ since }: HeldChange, { receivedAt }: Exchange): boolean =>
  receivedAt < since + TTL_MS

/** The earlier of two; the one that is known where the other is not. */
const earlier = (one: Moment | undefined, other: Moment): Moment =>
  one === undefined ? other : { from: Math.min(one.from, other.from), to: Math.min(one.to, other.to) }

const later = (moment: Moment | undefined, toMs: number, fromMs = 0): Moment | undefined =>
  moment && { from: moment.from + fromMs, to: moment.to + toMs }
