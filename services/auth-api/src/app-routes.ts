import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { FastifyRequest } from 'fastify'
import type { Parts } from './app-parts.ts'
import { createFailedLogins } from './audit/failed-logins.ts'
import { reportRefusal } from './audit/report-refusal.ts'
import type { RequestAudit } from './audit/request-audit.ts'
import type { Config } from './config.ts'
import { createChangeRepository } from './features/change-email/change-repository.ts'
import { createConfirmChange } from './features/change-email/confirm-change.ts'
import { createGuardChange } from './features/change-email/guard-change.ts'
import {
  createMakeEmailChange,
  isSameMailbox,
  type MakeEmailChange,
} from './features/change-email/make-change.ts'
import { createRequestChange } from './features/change-email/request-change.ts'
import { changeEmailRoutes } from './features/change-email/routes.ts'
import { createChangePassword } from './features/change-password/change-password.ts'
import { changePasswordRoutes } from './features/change-password/routes.ts'
import { healthRoutes } from './features/health/routes.ts'
import { createLogOut } from './features/log-out/log-out.ts'
import { logOutRoutes } from './features/log-out/routes.ts'
import { createLogIn } from './features/login/log-in.ts'
import { loginRoutes } from './features/login/routes.ts'
import { createConfirmCode } from './features/password-reset/confirm-code.ts'
import { createRequestReset } from './features/password-reset/request-reset.ts'
import { createResetRepository } from './features/password-reset/reset-repository.ts'
import { passwordResetRoutes } from './features/password-reset/routes.ts'
import { createSetPassword } from './features/password-reset/set-password.ts'
import { createProfileRepository } from './features/profile/profile-repository.ts'
import { type ProfileUpdate, profileRoutes } from './features/profile/routes.ts'
import { createUpdateProfile } from './features/profile/update-profile.ts'
import { tokenRoutes } from './features/refresh-token/routes.ts'
import { createConfirmSignUp } from './features/sign-up/confirm-sign-up.ts'
import { createRequestSignUp } from './features/sign-up/request-sign-up.ts'
import { signUpRoutes } from './features/sign-up/routes.ts'
import { createSignUpRepository } from './features/sign-up/sign-up-repository.ts'
import { startPageRoutes } from './features/start-page/routes.ts'
import { addressKey } from './limits/limit-keys.ts'
import { createCodeSecrets } from './one-time-codes/code-secrets.ts'
import { refuseOnQuantum } from './one-time-codes/end-on-quantum.ts'

export async function addRoutes(config: Config, parts: Parts): Promise<void> {
  const { server, readiness } = parts
  await server.register(healthRoutes, { readiness })
  await addTokenRoutes(config, parts)
  await addProfileRoutes(config, parts)
  await addPasswordRoutes(config, parts)
  if (config.signUp.isOpen === 'on') await addSignUpRoutes(config, parts)
  await server.register(startPageRoutes, {
    hasPage: hasDemoUsers(config.environment),
    environment: config.environment,
    inboxUrl: config.mail.inboxUrl,
    metricsPort: config.http.metricsPort,
    loginField: config.login.field,
  })
}

/** Login, refresh and logout. */
async function addTokenRoutes(config: Config, parts: Parts): Promise<void> {
  const { db, users, passwords, logger, server, clock } = parts
  const { limitLogin, countLogin, callerOf } = parts
  const { issueToken, refreshToken, endSession, validity } = parts.tokens
  const logIn = createLogIn({
    users,
    replaceHash: replaceHashIn(db),
    passwords,
    reportUnusableHash: (userid, reason) =>
      logger.warn({ userid }, `no password matches the stored hash of a user: it ${reason}`),
    issueToken,
    clock,
    field: config.login.field,
  })
  const loginAuditOf = buildLoginAudit(config, parts)
  await server.register(loginRoutes, {
    logIn: (credentials, request) =>
      countLogin(
        refuseOnQuantum('invalid_credentials', () =>
          limitLogin(request, credentials.username, (client) =>
            logIn(credentials, client, loginAuditOf(request, credentials.username)),
          ),
        ),
      ),
  })
  await server.register(tokenRoutes, { refreshToken: (request) => refreshToken(callerOf(request)) })
  const usersOf = createUserRepository
  const logOut = createLogOut({ ...parts, usersOf, endSession, validity })
  await server.register(logOutRoutes, { logOut: (request, options) => logOut(callerOf(request), options) })
}

/** The audit trail of a login, which also tells a user about many refused ones. */
function buildLoginAudit({ notices }: Config, parts: Parts) {
  const { auditOf, accountKey } = parts
  const isOn = notices.failedLogins === 'on'
  const countFailed = createFailedLogins({ ...parts, usersOf: createUserRepository })
  return (request: FastifyRequest, username: string): Pick<RequestAudit, 'report'> => {
    const audit = auditOf(request)
    return {
      report(event) {
        audit.report(event)
        if (isOn && event.name === 'login.refused')
          countFailed({ account: accountKey(username), userid: event.userid, address: audit.address })
      },
    }
  }
}

const replaceHashIn = (db: Database) => (userid: string, oldHash: string, newHash: string) =>
  db.transaction((transaction) => createUserRepository(transaction).replaceHash(userid, oldHash, newHash))

/** The profile, and the confirmation of a new e-mail. */
async function addProfileRoutes(config: Config, parts: Parts): Promise<void> {
  const { db, server, clock, callerOf } = parts
  const { updateProfile, confirmChange } = buildProfile(config, parts)
  const shownProperties = config.profile.properties
  await server.register(profileRoutes, {
    findProfile: (userid) => createProfileRepository(db).find(userid, new Date(clock())),
    shownProperties,
    updateProfile,
  })
  await server.register(changeEmailRoutes, {
    confirmChange: (request, code) => {
      const caller = callerOf(request)
      const event = { name: 'email.change_refused', userid: caller.claims.sub } as const
      return reportRefusal(caller.audit, { code: 'email_change_refused', ...event }, () =>
        confirmChange(caller, code),
      )
    },
    shownProperties,
  })
}

function buildProfile({ tokens, reset, profile }: Config, parts: Parts) {
  const { db, transaction, mails, notify, requireValid, clock, passwordClientOf, callerOf } = parts
  const { limitEmailChange, limitChanges, limitChangesTo } = parts
  const usersOf = createUserRepository
  const changesOf = createChangeRepository
  const secrets = createCodeSecrets('email', tokens.secret, tokens.previousSecret)
  const required = { requireValid, clock }
  const makeEmailChange = createMakeEmailChange({ usersOf, endCodes, notify, clock })
  const requestChange = createRequestChange({ ...reset, usersOf, changesOf, mails, secrets, clock })
  const isConfirmed = profile.emailChange === 'confirmed'
  const changeEmail: MakeEmailChange = (db, user, email, caller) =>
    isConfirmed && !isSameMailbox(user, email)
      ? requestChange(db, user, email, caller.audit)
      : makeEmailChange(db, user, email, caller)
  const profilesOf = createProfileRepository
  const updateProfile = createUpdateProfile({ ...required, transaction, usersOf, profilesOf, changeEmail })
  const guardChange = createGuardChange({ ...required, db, updateProfile })
  const { attempts } = reset
  const inTransaction = { transaction, usersOf, changesOf, makeEmailChange, secrets, attempts }
  return {
    confirmChange: createConfirmChange({ ...required, ...inTransaction, changes: changesOf(db) }),
    updateProfile: (request: FastifyRequest, { currentPassword, ...change }: ProfileUpdate) => {
      const client = {
        ...passwordClientOf(request),
        async limitMail({ userid }: User, email: string) {
          await limitChanges(request, userid)
          await limitChangesTo(request, email)
        },
      }
      if (isConfirmed) return guardChange(callerOf(request), { currentPassword, ...change }, client)
      const update = () => updateProfile(callerOf(request), change)
      return change.email === undefined ? update() : limitEmailChange(request, request.jwt.sub, update)
    },
  }
}

/** The change of a password by its owner, and its reset by e-mail. */
async function addPasswordRoutes(config: Config, parts: Parts): Promise<void> {
  const { server, tokens, limitReset, countReset, passwordClientOf, auditOf, callerOf } = parts
  const changePassword = createChangePassword({
    ...parts,
    usersOf: createUserRepository,
    endCodes,
    validity: tokens.validity,
    issueToken: tokens.issueToken,
    policy: config.policy,
  })
  const { requestReset, confirmCode, setPassword } = buildPasswordReset(config, parts)
  const refusingReset = <Result>(request: FastifyRequest, reason: string, work: () => Promise<Result>) =>
    reportRefusal(auditOf(request), { code: 'reset_refused', name: 'reset.refused', reason }, work)
  await server.register(changePasswordRoutes, {
    changePassword: (request, change) => changePassword(callerOf(request), change, passwordClientOf(request)),
  })
  await server.register(passwordResetRoutes, {
    requestReset: (email, request) =>
      countReset('requested')(limitReset(request, email).then(() => requestReset(email, auditOf(request)))),
    confirmCode: (given, request) =>
      countReset('confirmed')(refusingReset(request, 'code', () => confirmCode(given, auditOf(request)))),
    // The token of a confirmed reset came from the owner's mailbox.
    setPassword: (given, request) =>
      countReset('completed')(
        refusingReset(request, 'token', () =>
          setPassword(given, { address: addressKey(request), trust: 'known' }, auditOf(request)),
        ),
      ),
  })
}

function buildPasswordReset(
  { tokens, reset, policy }: Config,
  { db, passwords, transaction, users, mails, notify, clock }: Parts,
) {
  const resets = createResetRepository(db)
  const secrets = createCodeSecrets('reset', tokens.secret, tokens.previousSecret)
  const inTransaction = {
    transaction,
    resetsOf: createResetRepository,
    usersOf: createUserRepository,
    endCodes,
    notify,
  }
  const { ttlSeconds, attempts } = reset
  return {
    requestReset: createRequestReset({ ...inTransaction, users, mails, secrets, ttlSeconds, clock }),
    confirmCode: createConfirmCode({ resets, secrets, attempts, clock }),
    setPassword: createSetPassword({
      ...inTransaction,
      users,
      resets,
      secrets,
      passwords,
      policy,
      attempts,
      clock,
    }),
  }
}

/** Ends every code that was mailed to a user. */
async function endCodes(transaction: Queryable, userid: string, now: Date): Promise<void> {
  await createResetRepository(transaction).endAll(userid, now)
  await createChangeRepository(transaction).endAll(userid, now)
}

async function addSignUpRoutes({ tokens, reset, policy, signUp }: Config, parts: Parts): Promise<void> {
  const { server, db, limitSignUps, auditOf } = parts
  const { issueToken } = parts.tokens
  const usersOf = createUserRepository
  const signUpsOf = createSignUpRepository
  const secrets = createCodeSecrets('signup', tokens.secret, tokens.previousSecret)
  const { domains } = signUp
  const requestSignUp = createRequestSignUp({
    ...parts,
    ...reset,
    usersOf,
    signUpsOf,
    secrets,
    policy,
    domains,
  })
  const signUps = signUpsOf(db)
  const required = { ...parts, ...reset, usersOf, signUps, signUpsOf, secrets, issueToken }
  const confirmSignUp = createConfirmSignUp(required)
  await server.register(signUpRoutes, {
    requestSignUp(given, request) {
      const limit = (email: string) => limitSignUps(request, email)
      const client = { address: addressKey(request), trust: 'new', limit } as const
      return requestSignUp(given, client, auditOf(request))
    },
    confirmSignUp: (given, request) =>
      reportRefusal(auditOf(request), { code: 'signup_refused', name: 'signup.refused' }, () =>
        confirmSignUp(given, auditOf(request)),
      ),
  })
}
