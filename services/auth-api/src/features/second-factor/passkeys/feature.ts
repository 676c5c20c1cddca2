import type { FastifyInstance } from 'fastify'
import type { Config } from '../../../config.ts'
import type { Core } from '../../../core.ts'
import { createLogInByPasskey } from './log-in-by-passkey.ts'
import { createPasskeyOptions } from './passkey-options.ts'
import { createRegisterPasskey } from './register-passkey.ts'
import { passkeyRoutes } from './routes.ts'
import { createStepUpByPasskey } from './step-up-by-passkey.ts'
import { createVerifyPasskey } from './verify-passkey.ts'

/** Adds passkeys, as a second factor and in place of a password, if SECOND_FACTOR is `on` and PASSKEY_ORIGINS names a page. */
export async function addPasskeys(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { secondFactor, db, localNow, guard, getTokenUser, clientOf, loggedInClientOf } = core
  const { rpId, origins } = config.passkeys
  if (!secondFactor || rpId === undefined || origins.length === 0) return
  const party = { id: rpId, name: config.secondFactor.productName, origins }
  const toOptions = createPasskeyOptions({ db, party })
  const verifyPasskey = createVerifyPasskey({ party, localNow })
  const passkeyLogin = createLogInByPasskey({ party, secondFactor, toOptions, verifyPasskey })
  const passkeyStepUp = createStepUpByPasskey({
    party,
    db,
    getTokenUser,
    guard,
    secondFactor,
    toOptions,
    verifyPasskey,
  })
  const register = createRegisterPasskey({ party, db, guard, secondFactor, localNow })
  await app.register(passkeyRoutes, {
    loginOptions: passkeyLogin.options,
    logIn: (credential, request) => passkeyLogin.finish(credential, clientOf(request)),
    stepUpOptions: (request) => passkeyStepUp.options(loggedInClientOf(request)),
    stepUp: (credential, request) => passkeyStepUp.finish(credential, loggedInClientOf(request)),
    begin: (currentPassword, request) => register.begin(currentPassword, loggedInClientOf(request)),
    confirm: (registration, request) => register.confirm(registration, loggedInClientOf(request)),
  })
}
