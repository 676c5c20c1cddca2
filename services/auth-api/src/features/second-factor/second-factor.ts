import type { AuditEventName } from '@latchkey/shared/audit/audit-events.ts'
import type { Transaction } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { RequestAudit } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { FeatureRoutes } from '../../http/feature-routes.ts'
import type { FactorRefusal } from '../../limits/factor-limiter.ts'
import type { Challenges } from './challenges.ts'
import { type CountFactor, createFactorCounter } from './count-factors.ts'
import { createFactorSecrets, type FactorSecrets } from './factor-secrets.ts'
import { createGuessTotal, type GuessTotal } from './guess-total.ts'
import { createRecoveryCodes, type RecoveryCodes } from './recovery-codes/recovery-codes.ts'

/** A kind of factor as the limits, the metrics and the audit trail know it. */
export interface FactorTraits {
  /** The kind in the table `user_factor`, in the list of a user's factors and in the metrics. */
  name: string
  /** True for a short code. The guesses of a day, and of all days after one password, are limited too then. */
  isGuessable?: boolean
  /** The code of an attempt that is refused, and its event. Default: those of a code. */
  refusal?: { code: FactorRefusal; name: AuditEventName }
}

/**
 * Shows that the user has a factor, inside a transaction that has locked the user; returns how, as `amr` says it (RFC 8176).
 * Throws the refusal of its kind.
 */
export type VerifyFactor = (transaction: Transaction, user: User) => Promise<readonly string[]>

/** The audit trail of an attempt to show a factor. */
export type FactorAudit = Pick<RequestAudit, 'report' | 'write' | 'address'>

/** A kind of second factor. Its folder contains all that is special about it, and `app.ts` lists it. */
export interface FactorKind extends FactorTraits {
  /** Present where users type a code, which the same routes accept of every kind. */
  code?: CodeVerification
  /** The routes by which a user enrols a factor of the kind, and those that verify one where users type no code. */
  routes: FactorRoutes
}

/** The routes of a kind of second factor, which uses what all kinds share. */
export type FactorRoutes = FeatureRoutes<{ secondFactor: SecondFactor; config: Config }>

export interface CodeVerification {
  /** True where a code can be one of this kind. The first kind for which it is true verifies the code. */
  matches: (code: string) => boolean
  verify: (secondFactor: SecondFactor, code: string, audit: FactorAudit) => VerifyFactor
}

/** The parts of the core that second factors use. */
type FactorCore = Pick<
  Core,
  | 'localNow'
  | 'db'
  | 'transaction'
  | 'usersIn'
  | 'guard'
  | 'lockUser'
  | 'getTokenUser'
  | 'issueToken'
  | 'issueLogin'
  | 'answerLogin'
  | 'accountKey'
  | 'limitFactors'
  | 'knownAddresses'
  | 'notify'
  | 'notifyNewClient'
  | 'notifyFailedFactor'
  | 'clientOf'
  | 'loggedInClientOf'
>

/** The parts that all kinds of second factors share. */
export interface SecondFactor extends FactorCore {
  challenges: Challenges
  secrets: FactorSecrets
  recoveryCodes: RecoveryCodes
  guessTotal: GuessTotal
  /** Counts an attempt to show a factor of a kind. */
  count: CountFactor
  /** In the order in which they are asked whether a code is theirs. */
  kinds: readonly FactorKind[]
  /** The roles that need a factor, and the name that devices show. */
  settings: Pick<Config['secondFactor'], 'roles' | 'productName'>
  field: Config['login']['field']
}

/** Creates what all kinds share; returns undefined where SECOND_FACTOR is `off`. */
export function createSecondFactor(
  core: Core,
  { secondFactor: settings, login: { field } }: Pick<Config, 'secondFactor' | 'login'>,
  kinds: readonly FactorKind[],
): SecondFactor | undefined {
  const { secret, previousSecret } = settings
  const { challenges, logger, registry } = core
  if (!challenges || !secret) return undefined
  const secrets = createFactorSecrets({ secret, previousSecret, logger })
  const recoveryCodes = createRecoveryCodes(secrets)
  const guessTotal = createGuessTotal(core)
  const names = kinds.map(({ name }) => name)
  const count = createFactorCounter(registry, names)
  return {
    localNow: core.localNow,
    db: core.db,
    transaction: core.transaction,
    usersIn: core.usersIn,
    guard: core.guard,
    lockUser: core.lockUser,
    getTokenUser: core.getTokenUser,
    issueToken: core.issueToken,
    issueLogin: core.issueLogin,
    answerLogin: core.answerLogin,
    accountKey: core.accountKey,
    limitFactors: core.limitFactors,
    knownAddresses: core.knownAddresses,
    notify: core.notify,
    notifyNewClient: core.notifyNewClient,
    notifyFailedFactor: core.notifyFailedFactor,
    clientOf: core.clientOf,
    loggedInClientOf: core.loggedInClientOf,
    challenges,
    secrets,
    recoveryCodes,
    guessTotal,
    count,
    kinds,
    settings,
    field,
  }
}
