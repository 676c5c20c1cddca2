import { AppError } from '@latchkey/shared/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/factors/factor-repository.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createFactorGuard, type FactorGuard } from '../../second-factor/guard-factor.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import type { IssuedToken } from '../../tokens/issue-token.ts'
import { createEnrolTotp } from './enrol-totp.ts'
import { createProveCode, isTotpCode } from './prove-code.ts'
import { type FactorRoutesOptions, factorRoutes, type StepUp } from './routes.ts'
import { createStepUpByPassword } from './step-up-by-password.ts'

/** Adds second factors, the second step of a login, and the step-up of a token, where SECOND_FACTOR is `on`. */
export async function addFactors(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { secondFactor, limits, auditOf, noticeLogin } = core
  if (!secondFactor) return
  const { field } = config.login
  const guard = createFactorGuard({ limits, auditOf, noticeLogin, count: secondFactor.count, field })
  await app.register(factorRoutes, {
    ...createLoginSteps(core, { secondFactor, guard }),
    ...createFactorChanges(config, core, { secondFactor, guard }),
  })
}

interface GuardedFactor {
  secondFactor: SecondFactor
  guard: FactorGuard
}

const kindOf = (code: string) => (isTotpCode(code) ? 'totp' : 'recovery_code')

/** Creates what exchanges a code for a token. */
function createLoginSteps(
  core: Core,
  { secondFactor, guard }: GuardedFactor,
): Pick<FactorRoutesOptions, 'answer' | 'stepUp'> {
  const { db, notify, clock, auditOf, callerOf, requireCurrentPassword } = core
  const { requireValid, issueToken } = core.tokens
  const proveCode = createProveCode({ ...secondFactor, notify, clock })
  const stepUpByPassword = createStepUpByPassword({ requireCurrentPassword, issueToken, clock })

  async function answer(
    { challenge: text, code }: { challenge: string; code: string },
    request: FastifyRequest,
  ): Promise<IssuedToken> {
    const challenge = await secondFactor.challenges.read(text, 'latchkey-second-factor')
    const audit = auditOf(request)
    const attempt = { userid: challenge.sub, challenge: challenge.jti, kind: kindOf(code) } as const
    return guard.logIn(request, attempt, () => secondFactor.answer(challenge, proveCode(code, audit), audit))
  }

  async function stepUp({ code, currentPassword }: StepUp, request: FastifyRequest): Promise<IssuedToken> {
    const caller = callerOf(request)
    const { claims, audit } = caller
    const user = await requireValid(db, claims)
    if (code !== undefined)
      return guard.run(request, { userid: claims.sub, kind: kindOf(code) }, () =>
        secondFactor.stepUp(caller, proveCode(code, audit)),
      )
    return stepUpByPassword(user, currentPassword ?? '', { request, ...caller })
  }

  return { answer, stepUp }
}

/** Creates what lists, adds and removes factors. */
function createFactorChanges(
  { secondFactor: { productName } }: Config,
  core: Core,
  { secondFactor, guard }: GuardedFactor,
): Omit<FactorRoutesOptions, 'answer' | 'stepUp'> {
  const { db, transaction, clock, callerOf, requireCurrentPassword } = core
  const { requireValid, lockUser } = core.tokens
  const enrol = createEnrolTotp({ transaction, lockUser, secondFactor, productName, clock })
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
      return guard.run(request, { userid: caller.claims.sub, kind: 'totp' }, () =>
        enrol.confirm(caller, code),
      )
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
