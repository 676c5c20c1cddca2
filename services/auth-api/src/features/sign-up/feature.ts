import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createAttemptCode } from '../one-time-codes/attempt-code.ts'
import { createRequireCode } from '../one-time-codes/require-code.ts'
import { createConfirmSignUp, signUpRefused } from './confirm-sign-up.ts'
import { createRequestSignUp } from './request-sign-up.ts'
import { signUpRoutes } from './routes.ts'
import { createSignUpRepository } from './sign-up-repository.ts'

/** Adds the two steps of a sign-up, where SIGN_UP is `on`. */
export async function addSignUp(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  if (config.signUp.mode !== 'on') return
  const { db, transaction, usersIn, passwords, mails, localNow, clientOf } = core
  const attemptCode = createAttemptCode(core.limitCodes)
  const sharedNow = core.sharedNow
  const { ttlSeconds, attempts } = config.reset
  const signUpsIn = createSignUpRepository
  const secrets = core.codeSecrets.signup
  const requestSignUp = createRequestSignUp({
    limitSignUps: core.limitSignUps,
    transaction,
    usersIn,
    signUpsIn,
    mails,
    secrets,
    passwords,
    policy: config.policy,
    domains: config.signUp.domains,
    ttlSeconds,
    sharedNow,
  })
  const requireCode = createRequireCode({
    codes: signUpsIn(db),
    secrets,
    attempts,
    refusal: signUpRefused,
    sharedNow,
  })
  const { issueToken } = core
  const confirmSignUp = createConfirmSignUp({
    attemptCode,
    transaction,
    usersIn,
    signUpsIn,
    requireCode,
    issueToken,
    localNow,
    sharedNow,
  })

  await app.register(signUpRoutes, {
    requestSignUp: (signUp, request) => requestSignUp(signUp, clientOf(request)),
    confirmSignUp: (given, request) => confirmSignUp(given, clientOf(request)),
  })
}
