import { createFactorRepository } from '@latchkey/shared/factors/factor-repository.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { CHALLENGE_SECONDS } from '../../second-factor/challenges.ts'
import { createFactorGuard, type FactorGuard } from '../../second-factor/guard-factor.ts'
import type { SecondFactor } from '../../second-factor/second-factor.ts'
import {
  fromUserHandle,
  INVALID,
  loadWebAuthn,
  passkeyRefused,
  passkeysOf,
  type RelyingParty,
  readChallenge,
  toDescriptor,
  unknownPasskey,
} from './passkey.ts'
import { createProvePasskey } from './prove-passkey.ts'
import { createRegisterPasskey } from './register-passkey.ts'
import { type PasskeyRoutesOptions, passkeyRoutes } from './routes.ts'

/** Adds passkeys, as a second factor and in place of a password, if SECOND_FACTOR is `on` and PASSKEY_ORIGINS names a page. */
export async function addPasskeys(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { secondFactor, db, clock, limits, auditOf, noticeLogin, callerOf, requireCurrentPassword } = core
  const { rpId, origins } = config.passkeys
  if (!secondFactor || rpId === undefined || origins.length === 0) return
  const { requireValid } = core.tokens
  const party = { id: rpId, name: config.secondFactor.productName, origins }
  const register = createRegisterPasskey({ party, db, secondFactor, clock })
  const { field } = config.login
  const guard = createFactorGuard({ limits, auditOf, noticeLogin, count: secondFactor.count, field })
  await app.register(passkeyRoutes, {
    ...createPasskeyLogins(core, { secondFactor, party, guard }),
    async begin(currentPassword, request) {
      const caller = callerOf(request)
      const user = await requireValid(db, caller.claims)
      await requireCurrentPassword(user, currentPassword, { request, ...caller })
      return register.begin(user)
    },
    confirm(registration, request) {
      const caller = callerOf(request)
      return guard.run(request, { userid: caller.claims.sub, kind: 'passkey' }, () =>
        register.confirm(caller, registration),
      )
    },
  })
}

/** Creates what exchanges a signature of a passkey for a token. */
function createPasskeyLogins(
  core: Core,
  { secondFactor, party, guard }: { secondFactor: SecondFactor; party: RelyingParty; guard: FactorGuard },
): Omit<PasskeyRoutesOptions, 'begin' | 'confirm'> {
  const { db, clock, auditOf, callerOf } = core
  const { challenges } = secondFactor
  const provePasskey = createProvePasskey({ party, clock })

  /** The options of a login by one of the user's passkeys. Without a user: by any passkey that verifies its owner. */
  async function toOptions(challenge: string, userid?: string): Promise<object> {
    const passkeys = userid ? passkeysOf(await createFactorRepository(db).find(userid)) : []
    if (userid && passkeys.length === 0) throw passkeyRefused('You have no passkey; use another factor')
    const { generateAuthenticationOptions } = await loadWebAuthn()
    return generateAuthenticationOptions({
      rpID: party.id,
      challenge,
      timeout: CHALLENGE_SECONDS * 1_000,
      userVerification: userid ? 'preferred' : 'required',
      allowCredentials: passkeys.map(toDescriptor),
    })
  }

  const readSigned = ({ response }: AuthenticationResponseJSON) =>
    readChallenge(response.clientDataJSON, 'webauthn.get', party)

  return {
    async loginOptions(text) {
      if (text === undefined) return toOptions(await challenges.issue(undefined, 'latchkey-passkey'))
      const { sub } = await challenges.read(text, 'latchkey-second-factor')
      return toOptions(text, sub)
    },

    async logIn(credential, request) {
      const audit = auditOf(request)
      const challenge = await challenges.read(
        readSigned(credential),
        'latchkey-second-factor',
        'latchkey-passkey',
      )
      const isOnlyFactor = challenge.aud === 'latchkey-passkey'
      // In a login without a password, the authenticator names the user; the signature is checked afterwards.
      const userid = isOnlyFactor ? fromUserHandle(credential.response.userHandle) : challenge.sub
      if (userid === undefined) throw passkeyRefused(INVALID)
      return guard.logIn(request, { userid, challenge: challenge.jti, kind: 'passkey' }, () =>
        secondFactor.answer(challenge, provePasskey({ credential, isOnlyFactor }, audit), audit, {
          userid,
          ...(isOnlyFactor ? { unknown: unknownPasskey } : {}),
        }),
      )
    },

    async stepUpOptions(request) {
      const user = await core.tokens.requireValid(db, callerOf(request).claims)
      return toOptions(await challenges.issue(user, 'latchkey-passkey-stepup'), user.userid)
    },

    async stepUp(credential, request) {
      const caller = callerOf(request)
      const challenge = await challenges.read(readSigned(credential), 'latchkey-passkey-stepup')
      const prove = provePasskey({ credential, isOnlyFactor: false }, caller.audit)
      const attempt = { userid: caller.claims.sub, challenge: challenge.jti, kind: 'passkey' } as const
      return guard.run(request, attempt, () =>
        secondFactor.stepUp(caller, async (transaction, user) => {
          await challenges.use(transaction, user, challenge)
          return prove(transaction, user)
        }),
      )
    },
  }
}
