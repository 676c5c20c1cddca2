import type { Queryable } from '@latchkey/shared/database/database.ts'
import { createEmailChangeRepository } from '@latchkey/shared/users/email-change-repository.ts'
import type { FastifyInstance } from 'fastify'
import type { Config } from '../../config.ts'
import type { Core } from '../../core.ts'
import { createAttemptCode } from '../one-time-codes/attempt-code.ts'
import { createRequireCode } from '../one-time-codes/require-code.ts'
import { createApplyEmailChange } from './apply-email-change.ts'
import { createChangeEmail } from './change-email.ts'
import { createConfirmEmailChange, emailChangeRefused } from './confirm-email-change.ts'
import { freshFactorProblems } from './fresh-factor-problems.ts'
import { createGetProfile } from './get-profile.ts'
import { createProfileRepository } from './profile-repository.ts'
import { profileRoutes } from './profile-routes.ts'
import { createRequestEmailChange } from './request-email-change.ts'
import { createUpdateProfile } from './update-profile.ts'

/** Adds the profile, its update, and the confirmation of a new e-mail. */
export async function addProfile(app: FastifyInstance, config: Config, core: Core): Promise<void> {
  const { db, transaction, usersIn, sharedNow, loggedInClientOf } = core
  const { changeEmail, guardEmailChange, confirmEmailChange } = createEmailChangeSteps(config, core)
  const profilesIn = (db: Queryable) => createProfileRepository(db, config.reset.attempts)
  const getProfile = createGetProfile({ profiles: profilesIn(db), sharedNow })
  const updateProfile = createUpdateProfile({
    transaction,
    usersIn,
    profilesIn,
    getTokenUser: core.getTokenUser,
    changeEmail,
    guardEmailChange,
    sharedNow,
  })
  await app.register(profileRoutes, {
    freshFactorProblems: freshFactorProblems(core),
    getProfile,
    updateProfile: (change, request) => updateProfile(change, loggedInClientOf(request)),
    confirmEmailChange: (code, request) => confirmEmailChange(code, loggedInClientOf(request)),
    shownProperties: config.profile.properties,
  })
}

/** Creates the steps of a change of e-mail: its guard, the change at once or the mail with a code, and the confirmation. */
function createEmailChangeSteps({ profile, reset }: Config, core: Core) {
  const { db, transaction, usersIn, guard, mails, notify } = core
  const attemptCode = createAttemptCode(core.limitCodes)
  // One replica stores when a code ends, and another one may check it.
  const sharedNow = core.sharedNow
  const { ttlSeconds, attempts } = reset
  const { lockUser } = core
  const changesIn = createEmailChangeRepository
  const secrets = core.codeSecrets.email
  const apply = createApplyEmailChange({ guard, notify, sharedNow })
  const requireCode = createRequireCode({
    codes: changesIn(db),
    secrets,
    attempts,
    refusal: emailChangeRefused,
    sharedNow,
  })
  return {
    ...createChangeEmail({
      requiresConfirmation: profile.emailChange === 'confirmed',
      guard,
      limits: core,
      requestEmailChange: createRequestEmailChange({
        usersIn,
        changesIn,
        mails,
        secrets,
        ttlSeconds,
        sharedNow,
      }),
      applyEmailChange: apply,
    }),
    confirmEmailChange: createConfirmEmailChange({
      attemptCode,
      transaction,
      usersIn,
      changesIn,
      requireCode,
      lockUser,
      guard,
      applyEmailChange: apply,
      sharedNow,
    }),
  }
}
