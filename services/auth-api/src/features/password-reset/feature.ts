import { createResetRepository } from '@latchkey/shared/users/reset-repository.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createResetCounter } from '../health/service-metrics.ts'
import { createAttemptCode } from '../one-time-codes/attempt-code.ts'
import { createRequireCode } from '../one-time-codes/require-code.ts'
import { createConfirmCode, resetRefused } from './confirm-code.ts'
import { createRequestReset } from './request-reset.ts'
import { passwordResetRoutes } from './routes.ts'
import { createSetPassword } from './set-password.ts'

/** Adds the three steps of a password reset. */
export async function addPasswordReset(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { db, transaction, users, passwords, mails, notify, clientOf } = core
  const attemptCode = createAttemptCode(core.limitCodes)
  // One replica stores when a code ends, and another one may check it.
  const sharedNow = core.sharedNow
  const { ttlSeconds, attempts } = config.reset
  const resets = createResetRepository(db)
  const resetsIn = createResetRepository
  const secrets = core.codeSecrets.reset
  const requestReset = createRequestReset({
    limitResets: core.limitResets,
    users,
    transaction,
    resetsIn,
    mails,
    secrets,
    ttlSeconds,
    sharedNow,
  })
  const requireCode = createRequireCode({
    codes: resets,
    secrets,
    attempts,
    refusal: resetRefused,
    sharedNow,
  })
  const confirmCode = createConfirmCode({ attemptCode, requireCode, resets, secrets, sharedNow })
  const setPassword = createSetPassword({
    attemptCode,
    transaction,
    users,
    // The token of a reset takes the place of the account guard.
    usersIn: createUserRepository,
    resets,
    resetsIn,
    notify,
    secrets,
    passwords,
    policy: config.policy,
    attempts,
    sharedNow,
  })

  const count = createResetCounter(core.registry)
  await app.register(passwordResetRoutes, {
    requestReset: (email, request) => count('requested', requestReset(email, clientOf(request))),
    confirmCode: (given, request) => count('confirmed', confirmCode(given, clientOf(request))),
    setPassword: (given, request) => count('completed', setPassword(given, clientOf(request))),
  })
}
