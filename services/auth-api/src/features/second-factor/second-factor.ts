import type { Database, Queryable, Transaction } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import { type Clock, toNumericDate } from '@latchkey/shared/time/clock.ts'
import { endBegunChanges } from '@latchkey/shared/users/end-codes.ts'
import { createFactorRepository, storeFactorKinds } from '@latchkey/shared/users/factor-repository.ts'
import { roleOf, type User } from '@latchkey/shared/users/user.ts'
import { type FactorKind, factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { Registry } from 'prom-client'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Caller, Claims } from '../../tokens/claims.ts'
import { withoutFactors } from '../../tokens/current-amr.ts'
import type { IssuedToken, IssueToken } from '../../tokens/issue-token.ts'
import { MULTI_FACTOR } from '../../tokens/require-login.ts'
import type { LockUser } from '../../tokens/token-validity.ts'
import type { AccountGuard, GuardedUser, UnguardedUsers } from '../account/account-guard.ts'
import { createFactorCounter } from '../health/service-metrics.ts'
import { type Challenge, challengeRefused, createChallenges } from './challenges.ts'
import { createFactorAttempts, type FactorAttemptsDependencies } from './factor-attempts.ts'
import { createFactorSecrets, type FactorSecretsDependencies } from './factor-secrets.ts'
import { createGuessTotal } from './guess-total.ts'
import { createRecoveryCodes } from './recovery-codes/recovery-codes.ts'

export interface SecondFactorDependencies extends Omit<FactorAttemptsDependencies, 'count'> {
  transaction: Database['transaction']
  usersIn: (db: Queryable) => UnguardedUsers
  guard: Pick<AccountGuard, 'describe' | 'allow'>
  issueToken: IssueToken
  lockUser: LockUser
  notify: SendNotice
  logger: FactorSecretsDependencies['logger']
  registry: Registry
  localNow: Clock
}

/**
 * Shows that the user has a factor, inside a transaction that has locked the user; returns how, as `amr` says it (RFC 8176).
 * Throws `second_factor_refused`.
 */
export type VerifyFactor = (transaction: Transaction, user: User) => Promise<readonly string[]>

/** Confirms a new factor of a locked user whom the guard allows it; returns its kind, and how it was shown. */
export type ConfirmFactor = (
  transaction: Transaction,
  user: User,
) => Promise<{ user: GuardedUser; kind: FactorKind; amr: readonly string[] }>

/** What a user gets for a new factor: a token of a login with it. */
export interface Enrolled extends IssuedToken {
  /** Empty where the user has some already. */
  recoveryCodes: string[]
}

export type SecondFactor = NonNullable<ReturnType<typeof createSecondFactor>>

/**
 * Creates the functions that all kinds of second factors share: the login in two steps, its challenge, and the addition and
 * removal of a factor. Undefined where SECOND_FACTOR is `off`.
 */
export function createSecondFactor(
  { mode, roles, secret, previousSecret }: Config['secondFactor'],
  dependencies: SecondFactorDependencies,
) {
  if (mode !== 'on' || !secret) return undefined
  const { transaction, usersIn, guard, issueToken, lockUser, notify, logger, registry, localNow } =
    dependencies
  const challenges = createChallenges({ secret, previousSecret, guard, localNow })
  const secrets = createFactorSecrets({ secret, previousSecret, logger })
  const recoveryCodes = createRecoveryCodes(secrets)

  return {
    challenges,
    secrets,
    recoveryCodes,
    guessTotal: createGuessTotal({ transaction, usersIn, localNow }),
    factorAttempts: createFactorAttempts({ ...dependencies, count: createFactorCounter(registry) }),

    /** Throws `second_factor_required`, with a challenge, for a user who has a second factor. */
    async requireAtLogin(user: User, audit: Pick<RequestAudit, 'report'>): Promise<void> {
      const factors = factorKindsOf(user)
      if (factors.length === 0) return
      const begunUnder = await guard.describe(user)
      const challenge = await challenges.issue('latchkey-second-factor', { user, begunUnder })
      audit.report({ name: 'second_factor.required', userid: user.userid })
      throw new AppError(
        'second_factor_required',
        'Send the challenge and a code to POST /login/secondfactor, or get the options of a passkey for it',
        { details: { challenge, factors } },
      )
    },

    /**
     * Exchanges a challenge and a factor of its user, or of `userid`, for a token. Throws `challenge_refused` and what `verify`
     * throws; for a user that does not exist, what `unknown` creates.
     */
    async answer(
      challenge: Challenge,
      verify: VerifyFactor,
      audit: RequestAudit,
      {
        userid = challenge.sub,
        unknown = challengeRefused,
      }: { userid?: string; unknown?: () => AppError } = {},
    ): Promise<{ user: User; issued: IssuedToken }> {
      const readAt = toNumericDate(localNow())
      const [user, amr] = await transaction(async (db) => {
        const user = await usersIn(db).lockAndFind(userid)
        if (!user || user.deletedAt) throw unknown()
        // A refused factor rolls this back, and the challenge can be answered again.
        await challenges.use(db, user, challenge)
        return [user, await verify(db, user)] as const
      })
      audit.report({ name: 'login.succeeded', userid: user.userid })
      const first = challenge.aud === 'latchkey-passkey' ? [] : ['pwd']
      const issued = await issueToken(user, readAt, audit, { amr: [...first, ...amr, MULTI_FACTOR] })
      return { user, issued }
    },

    /** Steps up a token by a factor of its user. Throws `invalid_token` and what `verify` throws. */
    async stepUp({ claims, audit }: Caller, verify: VerifyFactor): Promise<IssuedToken> {
      const readAt = toNumericDate(localNow())
      const [user, amr] = await transaction(async (db) => {
        const user = await lockUser(db, claims)
        return [user, await verify(db, user)] as const
      })
      audit.report({ name: 'token.stepped_up', userid: user.userid })
      return issueToken(user, readAt, audit, withFactor(claims, readAt, amr))
    },

    /**
     * Adds the factor that `confirm` confirms inside a transaction that has locked the user. Ends what was begun without it, and for
     * the first factor every other session: none was opened with a factor. Returns a token of a login with it, and recovery codes
     * unless the user has some. Throws `invalid_token` and what `confirm` throws.
     */
    async add({ claims, audit }: Caller, confirm: ConfirmFactor): Promise<Enrolled> {
      const readAt = toNumericDate(localNow())
      const { user, amr, codes } = await transaction(async (db) => {
        const { user, kind, amr } = await confirm(db, await lockUser(db, claims))
        const factors = createFactorRepository(db)
        const users = usersIn(db)
        const { userid } = user
        const now = localNow()
        const codes = (await factors.findCodes(userid)).length > 0 ? [] : recoveryCodes.create()
        if (codes.length > 0) await recoveryCodes.replace(factors, userid, codes, new Date(now))
        const isFirst = factorKindsOf(user).length === 0
        const [current] = await Promise.all([
          isFirst ? revokeUserTokens(users, user, now, { except: claims }) : user,
          endBegunChanges(db, userid, new Date(now)),
          storeFactorKinds(factors, users, userid),
          audit.write(db, { name: 'factor.added', userid, reason: kind }),
          notify(db, user, { template: 'factor-added', kind, hadOthers: !isFirst }, audit.address),
        ])
        return { user: current, amr, codes }
      })
      const issued = await issueToken(user, readAt, audit, withFactor(claims, readAt, amr))
      return { recoveryCodes: codes, ...issued }
    },

    /**
     * Deletes a factor of the user inside a transaction that has locked the user; false when the user has no such factor. Throws
     * `last_factor` where the role needs one.
     */
    async remove(db: Transaction, user: GuardedUser, id: string, audit: RequestAudit): Promise<boolean> {
      const factors = createFactorRepository(db)
      const { userid } = user
      const confirmed = (await factors.find(userid)).filter(({ confirmedAt }) => confirmedAt)
      const removed = confirmed.find((factor) => factor.id === id)
      if (!removed || !(await factors.delete(id, userid))) return false
      if (confirmed.length === 1 && roles.includes(roleOf(user))) throw lastFactor()
      await Promise.all([
        storeFactorKinds(factors, usersIn(db), userid),
        audit.write(db, { name: 'factor.removed', userid, reason: removed.kind }),
        notify(db, user, { template: 'factor-removed', isLast: confirmed.length === 1 }, audit.address),
      ])
      return true
    },
  }
}

/** The session of a token after its user has shown a factor, and no other one. */
const withFactor = ({ sid, amr = ['pwd'] }: Claims, readAt: number, by: readonly string[]) => ({
  sid,
  authTime: readAt,
  amr: [...withoutFactors(amr), ...by, MULTI_FACTOR],
})

const lastFactor = () =>
  new AppError('last_factor', 'Your role needs a second factor; add another one before you remove this one')
