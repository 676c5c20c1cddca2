import { AppError } from '@latchkey/shared/app-error.ts'
import { toNumericDate } from '@latchkey/shared/clock.ts'
import { createFactorRepository } from '@latchkey/shared/factors/factor-repository.ts'
import { factorKindsOf } from '@latchkey/shared/factors/user-factors.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reportRefusal } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { createEnrolTotp } from './enrol-totp.ts'
import { createProveCode, isTotpCode } from './prove-code.ts'
import { type FactorRoutesOptions, factorRoutes, type StepUp } from './routes.ts'

/** Adds second factors, the second step of a login, and the step-up of a token, where SECOND_FACTOR is `on`. */
export async function addFactors(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { secondFactor } = core
  if (!secondFactor) return
  const withCode = createCodeGuard(core, secondFactor)
  await app.register(factorRoutes, {
    ...createLoginSteps(config, core, { secondFactor, withCode }),
    ...createFactorChanges(config, core, { secondFactor, withCode }),
  })
}

/** Runs what needs a code of a user, within the limits; counts and reports its refusal. */
type WithCode = <Result>(
  request: FastifyRequest,
  given: { userid: string; challenge?: string; code: string },
  work: () => Promise<Result>,
) => Promise<Result>

function createCodeGuard({ limits, auditOf }: Core, { count }: Pick<SecondFactor, 'count'>): WithCode {
  return (request, { userid, challenge, code }, work) => {
    const isGuessable = isTotpCode(code)
    const event = { code: 'second_factor_refused', name: 'second_factor.refused', userid } as const
    const reported = () => reportRefusal(auditOf(request), event, work)
    const limited = limits.limitFactors(request, { userid, challenge, isGuessable }, reported)
    return count(isGuessable ? 'totp' : 'recovery_code', limited)
  }
}

interface Parts {
  secondFactor: SecondFactor
  withCode: WithCode
}

/** Creates what exchanges a code for a token. */
function createLoginSteps(
  { login }: Config,
  core: Core,
  { secondFactor, withCode }: Parts,
): Pick<FactorRoutesOptions, 'answer' | 'stepUp'> {
  const { db, notify, noticeLogin, clock, auditOf, callerOf, requireCurrentPassword } = core
  const { requireValid, issueToken } = core.tokens
  const proveCode = createProveCode({ ...secondFactor, notify, clock })

  async function answer(
    given: { challenge: string; code: string },
    request: FastifyRequest,
  ): Promise<IssuedToken> {
    const { code } = given
    const challenge = await secondFactor.challenges.read(given.challenge, 'latchkey-second-factor')
    const audit = auditOf(request)
    const { user, issued } = await withCode(
      request,
      { userid: challenge.sub, challenge: challenge.jti, code },
      () => secondFactor.answer(challenge, proveCode(code, audit), audit),
    )
    await noticeLogin(user, audit)
    await core.limits.knownClients.remember(request, user[login.field] ?? user.userid)
    return issued
  }

  async function stepUp({ code, currentPassword }: StepUp, request: FastifyRequest): Promise<IssuedToken> {
    const caller = callerOf(request)
    const { claims, audit } = caller
    const user = await requireValid(db, claims)
    if (code !== undefined)
      return withCode(request, { userid: claims.sub, code }, () =>
        secondFactor.stepUp(caller, proveCode(code, audit)),
      )
    if (factorKindsOf(user).length > 0)
      throw new AppError('second_factor_refused', 'Send a code of your second factor, or a recovery code')
    const readAt = toNumericDate(clock())
    await requireCurrentPassword(user, currentPassword ?? '', { request, ...caller })
    return issueToken(user, readAt, { sid: claims.sid, authTime: readAt, amr: claims.amr })
  }

  return { answer, stepUp }
}

/** Creates what lists, adds and removes factors. */
function createFactorChanges(
  { secondFactor: { productName } }: Config,
  core: Core,
  { secondFactor, withCode }: Parts,
): Omit<FactorRoutesOptions, 'answer' | 'stepUp'> {
  const { db, transaction, usersIn, clock, callerOf, requireCurrentPassword } = core
  const { requireValid, lockUser, issueToken } = core.tokens
  const enrol = createEnrolTotp({
    transaction,
    usersIn,
    lockUser,
    secondFactor,
    issueToken,
    productName,
    clock,
  })
  return {
    async list({ jwt: { sub } }) {
      const factors = createFactorRepository(db)
      const [found, codes] = await Promise.all([factors.find(sub), factors.findCodes(sub)])
      return { factors: found.filter(({ confirmedAt }) => confirmedAt), recoveryCodes: codes.length }
    },
    async beginTotp({ currentPassword, name }, request) {
      const caller = callerOf(request)
      const user = await requireValid(db, caller.claims)
      await requireCurrentPassword(user, currentPassword, { request, ...caller })
      return enrol.begin(caller, name)
    },
    confirmTotp(code, request) {
      const caller = callerOf(request)
      return withCode(request, { userid: caller.claims.sub, code }, () => enrol.confirm(caller, code))
    },
    async rename(id, name, request) {
      const { userid } = await requireValid(db, callerOf(request).claims)
      if (!(await createFactorRepository(db).rename(id, userid, name))) throw noSuchFactor()
    },
    remove(id, request) {
      const { claims, audit } = callerOf(request)
      return transaction(async (db) => {
        if (!(await secondFactor.remove(db, await lockUser(db, claims), id, audit))) throw noSuchFactor()
      })
    },
    renewRecoveryCodes(request) {
      const { claims, audit } = callerOf(request)
      return transaction(async (db) => {
        const { userid } = await lockUser(db, claims)
        await audit.write(db, { name: 'recovery_codes.renewed', userid })
        return secondFactor.recoveryCodes.renew(createFactorRepository(db), userid, new Date(clock()))
      })
    },
  }
}

const noSuchFactor = () => new AppError('factor_not_found', 'You have no such factor')
