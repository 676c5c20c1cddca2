import { createLimitsModel, type Limits } from './limits-model.ts'
import type { Time } from './replicas.ts'

/** The settings that the model knows; but for the session, the replicas have their defaults. */
export const SETTINGS = {
  tokenLifetimeMs: 3_600_000,
  refreshWindowMs: 300_000,
  notBeforeLeewayMs: 5_000,
  revocationCacheMs: 5_000,
  refreshGraceMs: 10_000,
  /** Two lifetimes of a token. */
  sessionLifetimeMs: 7_200_000,
  resetTtlMs: 600_000,
  resetAttempts: 5,
  /** New passwords that a reset may have hashed beyond its attempts. */
  resetHashes: 5,
} as const

export interface ModelUser {
  readonly userid: string
  readonly username: string
  name: string
  email: string
  password: string
  oldPasswords: string[]
  role: string
  language: string | undefined
  isDeleted: boolean
  /** The number of times that all tokens were ended. A token is valid only if it was issued since the last time. */
  generation: number
}

/** A login with its refreshes. */
export interface ModelSession {
  /** The login. Milliseconds since the epoch, of whole seconds. */
  readonly startedAt: number
  /** The end by the clock that never goes back. */
  endedAt: number | undefined
}

/** A pair of tokens: the answer of a refresh and its repeats. */
export interface ModelPair {
  readonly predecessor: ModelPair | undefined
  successor: ModelPair | undefined
  /** Once its successor was used: when the grace ends by the wall clock, and the time of that use by the other one. */
  replaced: { readonly from: number; readonly at: number } | undefined
}

export interface ModelToken {
  readonly jwt: string
  readonly session: ModelSession
  readonly pair: ModelPair
  readonly user: ModelUser
  generation: number
  /** Milliseconds since the epoch, of whole seconds. */
  readonly notBefore: number
  readonly expiresAt: number
}

export interface ModelReset {
  readonly id: string
  /** Undefined for a decoy. */
  readonly user: ModelUser | undefined
  readonly email: string
  /** The mail; a decoy has no code. */
  readonly code: string | undefined
  readonly createdAt: number
  /** The one that the reset accepts; the last is the current one. */
  readonly tokens: string[]
  expiresAt: number
  attempts: number
  isConfirmed: boolean
  isUsed: boolean
}

/** A change of e-mail that a code has to confirm. */
export interface ModelChange {
  readonly id: string
  readonly user: ModelUser
  readonly email: string
  /** The mail; undefined where the address belongs to another user. */
  readonly code: string | undefined
  readonly expiresAt: number
  attempts: number
  isUsed: boolean
}

/** A sign-up that waits for its code. */
export interface ModelSignUp {
  readonly id: string
  /** The e-mail as it was sent. */
  readonly email: string
  readonly username: string
  readonly name: string
  readonly language: string | undefined
  readonly password: string
  readonly token: string
  /** The mail; undefined where the address belonged to a user. */
  readonly code: string | undefined
  readonly expiresAt: number
  attempts: number
}

/** The state of a user until a change. */
interface Past extends AccountState {
  readonly userid: string
  /** The end by the clock that never goes back. */
  readonly endedAt: number
}

type AccountState = Readonly<Pick<ModelUser, 'generation' | 'role' | 'isDeleted'>>

export type AccountModel = ReturnType<typeof createAccountModel>

/** Accounts as the documentation describes them: users, their tokens, their resets and their changes of e-mail. */
export function createAccountModel(time: Time, options: { sharesLimits: boolean; limits: Limits }) {
  const users: ModelUser[] = []
  const tokens: ModelToken[] = []
  const resets: ModelReset[] = []
  const changes: ModelChange[] = []
  const signUps: ModelSignUp[] = []
  const events: string[] = []
  const mails: string[] = []
  const past: Past[] = []

  /** Returns the states that a replica may know of a user: the present one, and those until REVOCATION_CACHE ago. */
  function knownOf(user: ModelUser): AccountState[] {
    const isRemembered = ({ userid, endedAt }: Past) =>
      userid === user.userid && time.elapsed - endedAt <= SETTINGS.revocationCacheMs
    return [user, ...past.filter(isRemembered)]
  }

  const isInTime = ({ notBefore, expiresAt }: ModelToken) =>
    time.now >= notBefore - SETTINGS.notBeforeLeewayMs && time.now < expiresAt

  const isReplaced = ({ pair: { replaced } }: ModelToken) =>
    replaced !== undefined && time.now >= replaced.from

  /** True where a token has not expired, and nothing but its successor can have ended it. */
  const isUnended = (token: ModelToken) =>
    isInTime(token) &&
    !token.user.isDeleted &&
    token.generation === token.user.generation &&
    token.session.endedAt === undefined

  /** Returns what a replica may know about something that happened at `at`. */
  const mayKnow = (at: number | undefined): boolean[] => {
    if (at === undefined) return [false]
    return time.elapsed - at <= SETTINGS.revocationCacheMs ? [true, false] : [true]
  }

  /** True where a replica may know a token as one that was ended by its session or by its successor. */
  function knownEnds(token: ModelToken): boolean[] {
    const bySession = mayKnow(token.session.endedAt)
    const bySuccessor = isReplaced(token) ? mayKnow(token.pair.replaced?.at) : [false]
    return bySession.flatMap((session) => bySuccessor.map((successor) => session || successor))
  }

  const isOpen = (reset: ModelReset) => !reset.isUsed && reset.expiresAt > time.now

  return {
    users,
    tokens,
    resets,
    changes,
    signUps,
    /** The events that are recorded in the transactions that they are about, with their users. */
    events,
    limits: createLimitsModel({ areShared: options.sharesLimits, limits: options.limits }),

    /** The mails that were accepted: their templates and recipients. */
    mails,

    record: (name: string, { userid }: ModelUser): void => void events.push(`${name} ${userid}`),

    findUser: (email: string) => users.find((user) => fold(user.email) === fold(email)),

    /** Changes what replicas remember of a user. */
    change(user: ModelUser, changed: Partial<AccountState>): void {
      const { userid, generation, role, isDeleted } = user
      past.push({ userid, generation, role, isDeleted, endedAt: time.elapsed })
      Object.assign(user, changed)
    },

    /** The roles that a replica may give the bearer of a token; undefined where it may refuse the token. */
    admissions(token: ModelToken): Set<string | undefined> {
      if (!isInTime(token)) return new Set([undefined])
      const isRefused = ({ isDeleted, generation }: AccountState) =>
        isDeleted || token.generation < generation
      return new Set(
        knownEnds(token).flatMap((hasEnded) =>
          knownOf(token.user).map((known) => (hasEnded || isRefused(known) ? undefined : known.role)),
        ),
      )
    },

    /** True where a token is valid by what the database has now. */
    isValidNow: (token: ModelToken): boolean => isUnended(token) && !isReplaced(token),

    /** True where a refresh of a token ends its session. */
    isReuse: (token: ModelToken): boolean => isUnended(token) && isReplaced(token),

    /** The first use of a pair ends the tokens before it, after a grace. */
    use({ pair: { predecessor } }: ModelToken): void {
      if (predecessor) predecessor.replaced ??= { from: time.now + SETTINGS.refreshGraceMs, at: time.elapsed }
    },

    /** The pair to which a token is refreshed, whenever that is. */
    successorOf: ({ pair }: ModelToken): ModelPair => (pair.successor ??= aPair(pair)),

    isRefreshable: (token: ModelToken): boolean => token.expiresAt - time.now <= SETTINGS.refreshWindowMs,

    /** True where the login was too long ago for a refresh. */
    isTooOld: ({ session }: ModelToken): boolean =>
      time.now >= session.startedAt + SETTINGS.sessionLifetimeMs,

    revokeSession(token: ModelToken): void {
      token.session.endedAt ??= time.elapsed
    },

    issue(
      jwt: string,
      user: ModelUser,
      {
        generation = user.generation,
        session,
        pair = aPair(),
      }: Partial<Pick<ModelToken, 'generation' | 'session' | 'pair'>> = {},
    ): ModelToken {
      const second = Math.floor(time.now / 1000) * 1000
      const token = {
        jwt,
        session: session ?? { startedAt: second, endedAt: undefined },
        pair,
        user,
        generation,
        notBefore: second,
        expiresAt: second + SETTINGS.tokenLifetimeMs,
      }
      tokens.push(token)
      return token
    },

    /** The reset that the service knows for an e-mail: the newest. */
    findReset: (email: string) =>
      resets
        .filter((reset) => reset.email === fold(email))
        .toSorted(byCreation)
        .at(-1),

    beginReset(given: Pick<ModelReset, 'id' | 'user' | 'code'> & { email: string; token: string }): void {
      const reset = {
        ...given,
        email: fold(given.email),
        createdAt: time.now,
        expiresAt: time.now + SETTINGS.resetTtlMs,
        tokens: [given.token],
        attempts: 0,
        isConfirmed: false,
        isUsed: false,
      }
      resets.push(reset)
    },

    /** True where a code may still be tried. */
    isConfirmable: (reset: ModelReset): boolean =>
      isOpen(reset) && !reset.isConfirmed && reset.attempts < SETTINGS.resetAttempts,

    /** True where a new password may be set with the reset's token. */
    isUsable: (reset: ModelReset): boolean =>
      isOpen(reset) &&
      reset.isConfirmed &&
      reset.user !== undefined &&
      !reset.user.isDeleted &&
      fold(reset.user.email) === reset.email,

    mayHash: (reset: ModelReset): boolean => reset.attempts < SETTINGS.resetAttempts + SETTINGS.resetHashes,

    setPassword(user: ModelUser, password: string): void {
      user.oldPasswords.push(user.password)
      user.password = password
      mails.push(`password-changed ${user.email}`)
      this.revokeTokens(user)
      endCodesOf(user)
    },

    /** The change that the codes of a user's calls are compared with; it may have expired. */
    findChange: (user: ModelUser): ModelChange | undefined =>
      changes.findLast((change) => change.user === user && !change.isUsed),

    /** Returns the pending e-mail that a profile shows. */
    pendingEmail(user: ModelUser): string | undefined {
      const change = this.findChange(user)
      return change && this.isOpenChange(change) ? change.email : undefined
    },

    beginChange(given: Pick<ModelChange, 'id' | 'user' | 'email' | 'code'>): void {
      for (const change of changes) if (change.user === given.user) change.isUsed = true
      changes.push({ ...given, expiresAt: time.now + SETTINGS.resetTtlMs, attempts: 0, isUsed: false })
    },

    /** True where a code may still be tried. */
    isOpenChange: (change: ModelChange): boolean =>
      !change.isUsed && change.expiresAt > time.now && change.attempts < SETTINGS.resetAttempts,

    revokeTokens(user: ModelUser): void {
      this.change(user, { generation: user.generation + 1 })
    },

    /** Changes the e-mail by a token, which stays valid. */
    setEmail(token: ModelToken, email: string): void {
      const { user } = token
      if (fold(user.email) !== fold(email)) {
        endCodesOf(user)
        this.revokeTokens(user)
        // The exception is made for a `jti`.
        for (const each of tokens) if (each.pair === token.pair) each.generation = user.generation
        this.record('email.changed', user)
        mails.push(`email-changed ${user.email}`)
      }
      user.email = email
    },

    findSignUp: (email: string, token: string) =>
      signUps.find((signUp) => fold(signUp.email) === fold(email) && signUp.token === token),

    beginSignUp(given: Omit<ModelSignUp, 'expiresAt' | 'attempts'>): void {
      signUps.push({ ...given, expiresAt: time.now + SETTINGS.resetTtlMs, attempts: 0 })
    },

    /** True where a code may still be tried. */
    isOpenSignUp: (signUp: ModelSignUp): boolean =>
      signUp.expiresAt > time.now && signUp.attempts < SETTINGS.resetAttempts,

    endSignUp: (signUp: ModelSignUp): void => void signUps.splice(signUps.indexOf(signUp), 1),
  }

  function endCodesOf(user: ModelUser): void {
    for (const code of [...resets, ...changes]) if (code.user === user) code.isUsed = true
  }
}

const aPair = (predecessor?: ModelPair): ModelPair => ({
  predecessor,
  successor: undefined,
  replaced: undefined,
})

/** Folds an e-mail for a comparison as the documentation describes it: case does not count. */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase()

/** Two of one millisecond are ordered by their ids. */
const byCreation = (one: Created, other: Created) =>
  one.createdAt - other.createdAt || (one.id < other.id ? -1 : 1)

type Created = Pick<ModelReset, 'createdAt' | 'id'>
