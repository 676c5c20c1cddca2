import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reportRefusal } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createCheckCode } from '../../one-time-codes/check-code.ts'
import { roundUpDuration } from '../../round-up-duration.ts'
import { createResetCounter } from '../../service-metrics.ts'
import { createConfirmCode, resetRefused } from './confirm-code.ts'
import { createRequestReset } from './request-reset.ts'
import { createResetRepository } from './reset-repository.ts'
import { passwordResetRoutes } from './routes.ts'
import { createSetPassword } from './set-password.ts'

/** Adds the three steps of a password reset. */
export async function addPasswordReset(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { db, transaction, users, usersIn, passwords, mails, notify, auditOf } = core
  // One replica stores when a code ends, and another one may check it.
  const clock = core.databaseClock.now
  const { limitCodes, limitResets } = core.limits
  const { ttlSeconds, attempts } = config.reset
  const resets = createResetRepository(db)
  const resetsIn = createResetRepository
  const secrets = core.codeSecretsFor('reset')
  const requestReset = createRequestReset({
    users,
    transaction,
    resetsIn,
    mails,
    secrets,
    ttlSeconds,
    clock,
  })
  const checkCode = createCheckCode({ codes: resets, secrets, attempts, refusal: resetRefused, clock })
  const confirmCode = createConfirmCode({ checkCode, resets, secrets, clock })
  const setPassword = createSetPassword({
    transaction,
    users,
    usersIn,
    resets,
    resetsIn,
    notify,
    secrets,
    passwords,
    policy: config.policy,
    attempts,
    clock,
  })

  const count = createResetCounter(core.registry)
  const reportRefused = <Result>(request: FastifyRequest, reason: string, work: () => Promise<Result>) =>
    reportRefusal(auditOf(request), { code: 'reset_refused', name: 'reset.refused', reason }, work)

  async function request(email: string, from: FastifyRequest): Promise<string> {
    await limitResets(from, email)
    // Whether the e-mail is known shows neither in the answer nor in its time.
    return roundUpDuration(() => requestReset(email, auditOf(from)))
  }

  await app.register(passwordResetRoutes, {
    requestReset: (email, from) => count('requested', request(email, from)),
    confirmCode: (given, from) =>
      count(
        'confirmed',
        limitCodes(from, given.email, () =>
          reportRefused(from, 'code', () => confirmCode(given, auditOf(from))),
        ),
      ),
    setPassword: (given, from) =>
      count(
        'completed',
        limitCodes(from, given.email, () =>
          reportRefused(from, 'token', () => setPassword(given, auditOf(from))),
        ),
      ),
  })
}
