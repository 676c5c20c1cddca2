import type { FastifyInstance, FastifyRequest } from 'fastify'
import { reportRefusal } from '../../audit/request-audit.ts'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createCheckCode } from '../../one-time-codes/check-code.ts'
import { createApplyEmailChange } from './apply-email-change.ts'
import { createChangeEmail, type EmailChangeGuards } from './change-email.ts'
import { createConfirmEmailChange, emailChangeRefused } from './confirm-email-change.ts'
import { createEmailChangeRepository } from './email-change-repository.ts'
import { createProfileRepository, type ProfileRecord } from './profile-repository.ts'
import { createRequestEmailChange } from './request-email-change.ts'
import { type ProfileUpdate, profileRoutes } from './routes.ts'
import { createUpdateProfile } from './update-profile.ts'

/** Adds the profile, its update, and the confirmation of a new e-mail. */
export async function addProfile(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { db, transaction, usersIn, databaseClock, callerOf, requireCurrentPassword } = core
  const { limitCodes, limitEmailChanges, limitEmailChangesTo, limitTakenEmails } = core.limits
  const { getTokenUser } = core.tokens
  const { changeEmail, guardEmailChange, confirmEmailChange } = createEmailChange(config, core)
  const updateProfile = createUpdateProfile({
    transaction,
    usersIn,
    profilesIn: createProfileRepository,
    getTokenUser,
    changeEmail,
    clock: databaseClock.now,
  })

  function update(
    request: FastifyRequest,
    { currentPassword, ...change }: ProfileUpdate,
  ): Promise<ProfileRecord | undefined> {
    const caller = callerOf(request)
    const { email } = change
    const updated = () => updateProfile(caller, change)
    if (email === undefined) return updated()
    const guards: EmailChangeGuards = {
      requirePassword: (user, password) => requireCurrentPassword(user, password, { request, ...caller }),
      async limitMails(userid, address) {
        await limitEmailChanges(request, userid)
        await limitEmailChangesTo(request, address)
      },
      limitTaken: (work) => limitTakenEmails(request, caller.claims.sub, work),
    }
    return guardEmailChange(caller, { email, currentPassword }, guards, updated)
  }

  await app.register(profileRoutes, {
    freshFactorProblems: core.freshFactorProblems,
    findProfile: (userid) => createProfileRepository(db).find(userid, new Date(databaseClock.now())),
    updateProfile: update,
    confirmEmailChange(request, code) {
      const caller = callerOf(request)
      const event = { name: 'email.change_refused', userid: caller.claims.sub } as const
      return limitCodes(request, caller.claims.sub, () =>
        reportRefusal(caller.audit, { code: 'email_change_refused', ...event }, () =>
          confirmEmailChange(caller, code),
        ),
      )
    },
    shownProperties: config.profile.properties,
  })
}

/** Creates what changes an e-mail: at once, or by the code of a mail to the new address where EMAIL_CHANGE says so. */
function createEmailChange({ profile, reset }: Config, core: Core) {
  const { db, transaction, usersIn, mails, notify, requireFreshFactor } = core
  // One replica stores when a code ends, and another one may check it.
  const clock = core.databaseClock.now
  const { ttlSeconds, attempts } = reset
  const { getTokenUser, lockUser } = core.tokens
  const changesIn = createEmailChangeRepository
  const secrets = core.codeSecretsFor('email')
  const apply = createApplyEmailChange({ usersIn, notify, clock })
  const checkCode = createCheckCode({
    codes: changesIn(db),
    secrets,
    attempts,
    refusal: emailChangeRefused,
    clock,
  })
  return {
    ...createChangeEmail({
      isConfirmed: profile.emailChange === 'confirmed',
      db,
      getTokenUser,
      requireFreshFactor,
      requestEmailChange: createRequestEmailChange({ usersIn, changesIn, mails, secrets, ttlSeconds, clock }),
      applyEmailChange: apply,
    }),
    confirmEmailChange: createConfirmEmailChange({
      transaction,
      usersIn,
      changesIn,
      checkCode,
      lockUser,
      applyEmailChange: apply,
      clock,
    }),
  }
}
