import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createLogInByPasskey } from './log-in-by-passkey.ts'
import { createPasskeyOptions } from './passkey-options.ts'
import { createProvePasskey } from './prove-passkey.ts'
import { createRegisterPasskey } from './register-passkey.ts'
import { passkeyRoutes } from './routes.ts'
import { createStepUpByPasskey } from './step-up-by-passkey.ts'

/** Adds passkeys, as a second factor and in place of a password, if SECOND_FACTOR is `on` and PASSKEY_ORIGINS names a page. */
export async function addPasskeys(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { secondFactor, db, clock, requireCurrentPassword, clientOf, callerOf } = core
  const { getTokenUser } = core.tokens
  const { rpId, origins } = config.passkeys
  if (!secondFactor || rpId === undefined || origins.length === 0) return
  const { guard } = secondFactor
  const party = { id: rpId, name: config.secondFactor.productName, origins }
  const toOptions = createPasskeyOptions({ db, party })
  const provePasskey = createProvePasskey({ party, clock })
  const logIn = createLogInByPasskey({ party, secondFactor, toOptions, provePasskey, guard })
  const stepUp = createStepUpByPasskey({
    party,
    db,
    getTokenUser,
    secondFactor,
    toOptions,
    provePasskey,
    guard,
  })
  const register = createRegisterPasskey({
    party,
    db,
    getTokenUser,
    requireCurrentPassword,
    secondFactor,
    guard,
    clock,
  })
  await app.register(passkeyRoutes, {
    loginOptions: logIn.begin,
    logIn: (credential, request) => logIn.logIn(credential, clientOf(request)),
    stepUpOptions: (request) => stepUp.begin(callerOf(request)),
    stepUp: (credential, request) => stepUp.stepUp(credential, callerOf(request)),
    begin: (currentPassword, request) => register.begin(currentPassword, callerOf(request)),
    confirm: (registration, request) => register.confirm(registration, callerOf(request)),
  })
}
