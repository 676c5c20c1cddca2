import { hash } from 'node:crypto'
import type { Statement } from '@latchkey/shared/database/database.ts'
import { findProperty, LANGUAGE_PROPERTY, validFromOf } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { expect } from 'vitest'
import type { Request } from '../model/replicas.ts'
import { numberedPassword } from '../support/numbered-password.ts'
import {
  type AccountHistory,
  type AccountRow,
  type HeldToken,
  isFresh,
  isPending,
} from './account-history.ts'
import { type Exchange, type KilledReplicas, type Mail, patiently, SETTINGS } from './killed-replicas.ts'
import { signUp, signUpTaken } from './sign-up.ts'
import { expectStatus, type Step, send, tokenOf, type Use } from './use.ts'

const NOBODY = 'nobody@nowhere.example.com'
const PUBLIC = ['/', '/health/live', '/health/ready', '/openapi.json', '/docs']
const ROLES = ['user', 'admin', 'editor']

/** The steps by name; `weight` says how often each occurs. */
export const STEPS: Record<string, { weight: number; run: Step }> = {
  visit: { weight: 1, run: visit },
  logIn: { weight: 9, run: logIn },
  logInWrongly: { weight: 2, run: logInWrongly },
  ping: { weight: 6, run: ping },
  refresh: { weight: 6, run: refresh },
  logOut: { weight: 2, run: logOut },
  logOutEverywhere: { weight: 1, run: logOutEverywhere },
  readProfile: { weight: 2, run: readProfile },
  changeProfile: { weight: 2, run: changeProfile },
  changePassword: { weight: 2, run: changePassword },
  changePasswordWrongly: { weight: 1, run: changePasswordWrongly },
  requestEmail: { weight: 3, run: requestEmail },
  confirmEmail: { weight: 3, run: confirmEmail },
  changeEmail: { weight: 2, run: changeEmail },
  requestReset: { weight: 3, run: requestReset },
  requestResetOfNobody: { weight: 1, run: requestResetOfNobody },
  confirmReset: { weight: 3, run: confirmReset },
  setPassword: { weight: 4, run: setPassword },
  resetPassword: { weight: 2, run: resetPassword },
  setRole: { weight: 1, run: setRole },
  signUp: { weight: 2, run: signUp },
  signUpTaken: { weight: 1, run: signUpTaken },
  deleteAndRestore: { weight: 1, run: deleteAndRestore },
}

/** Checks the account at rest: its rows, its password and its tokens, on both replicas. */
export async function expectExplained(use: Use): Promise<void> {
  const { account, service } = use
  account.expectRow(await readRow(service, account.userid))
  for (const replica of [0, 1]) {
    for (const token of account.tokens) await usePing({ ...use, replica }, token)
    const payload = { username: account.email, password: account.password }
    expectStatus(await send({ ...use, replica }, { url: '/login', payload }), 200)
  }
}

interface SendOptions {
  /** Whether the route asks the database about the token. */
  exact?: boolean
  /** Whether the route refuses a valid token. */
  mayRefuseToo?: (exchange: Exchange) => boolean
}

/** Sends a request with a token; undefined when it was refused as it may be, or the connection broke. */
async function sendAs(
  use: Use,
  token: HeldToken,
  request: Request,
  { exact = false, mayRefuseToo = () => false }: SendOptions = {},
): Promise<Exchange | undefined> {
  const { account, service } = use
  const exchange = await send(use, { ...request, token: token.jwt })
  const { answer, sentAt, receivedAt } = exchange
  const { mayAdmit, mayRefuse } = account.verdictOn(token, exchange, { exact })
  if (account.mayBeReused(token, exchange)) {
    if (!answer) token.session.ended ??= { from: sentAt, to: Number.POSITIVE_INFINITY }
    else if (answer.status === 401 && (await service.hasSessionEnded(token.jwt)))
      token.session.ended ??= { from: sentAt, to: receivedAt }
  }
  if (!answer) return exchange
  if (answer.status !== 401) {
    expect(mayAdmit, 'a token that has ended is refused').toBe(true)
    return exchange
  }
  expect(mayRefuse || mayRefuseToo(exchange), `a valid token is admitted: ${JSON.stringify(answer)}`).toBe(
    true,
  )
  return undefined
}

interface Change extends Partial<AccountRow> {
  /** It ends all tokens, but perhaps one, and all codes. */
  endsTokens?: boolean
  endsCodes?: boolean
}

/**
 * Compares the rows with those before a change or after it; where the connection broke, they are either. Returns whether
 * it was made.
 */
async function settle({ account, service }: Use, { answer }: Exchange, change: Change): Promise<boolean> {
  const { endsTokens = false, endsCodes = false, ...changed } = change
  const found = await readRow(service, account.userid)
  const after = {
    ...changed,
    ...(endsTokens ? { mark: found.mark } : {}),
    ...(endsCodes ? { unusedResets: 0, unusedChanges: [] } : {}),
  }
  const isMade = answer ? answer.status < 300 : found.mark > account.mark || isIn(found, changed)
  account.expectRow(found, isMade ? after : {})
  if (!isMade) return false
  if (endsTokens) expect(found.mark, 'the valid-from mark grows').toBeGreaterThan(account.mark)
  account.mark = found.mark
  if (endsCodes) Object.assign(account, { reset: undefined, change: undefined, unusedResets: 0 })
  return true
}

const isIn = (found: AccountRow, changed: Partial<AccountRow>): boolean =>
  Object.keys(changed).length > 0 &&
  Object.entries(changed).every(([name, value]) =>
    Object.is(Object.entries(found).find(([key]) => key === name)?.[1], value),
  )

const UNUSED_RESETS: Statement = {
  name: 'use-resets',
  text: 'select count(*) as count from password_reset where userid = $1 and used_at is null',
}
const UNUSED_CHANGES: Statement = {
  name: 'use-changes',
  text: 'select email from email_change where userid = $1 and used_at is null',
}

/** Waits for a transaction that changes the user: that of a killed replica may just be committed. */
const readRow = ({ db }: KilledReplicas, userid: string): Promise<AccountRow> =>
  patiently(() =>
    db.transaction(async (transaction) => {
      const users = createUserRepository(transaction)
      await users.lock(userid)
      const user = await users.findById(userid)
      if (!user) throw new Error(`The user ${userid} is gone`)
      const id = db.toUuidValue(userid)
      const [resets] = await transaction.query<{ count: unknown }>(UNUSED_RESETS, [id])
      const changes = await transaction.query<{ email: string }>(UNUSED_CHANGES, [id])
      return {
        name: user.name ?? '',
        email: user.email ?? '',
        passwordHash: user.passwordHash,
        role: user.role ?? '',
        language: findProperty(user, LANGUAGE_PROPERTY),
        isDeleted: user.deletedAt !== null,
        mark: validFromOf(user),
        unusedResets: Number(resets?.count),
        unusedChanges: changes.map(({ email }) => email),
      }
    }),
  )

/** Mostly the newest. */
function pick({ account, token }: Use): HeldToken | undefined {
  account.forgetExpired()
  return account.tokens.at(token > 3 ? -1 : token % Math.max(1, account.tokens.length))
}

async function visit(use: Use): Promise<void> {
  for (const url of PUBLIC) expectStatus(await send(use, { method: 'GET', url }), 200)
}

async function logIn(use: Use): Promise<void> {
  const { account, variant } = use
  const username = variant % 2 ? account.email.toUpperCase() : account.email
  const exchange = await send(use, { url: '/login', payload: { username, password: account.password } })
  expectStatus(exchange, 200)
  if (exchange.answer) account.hold(tokenOf(exchange))
}

async function logInWrongly(use: Use): Promise<void> {
  const { account, variant } = use
  const password = account.oldPasswords.at(-1 - (variant % 3)) ?? 'wrong'
  expectStatus(await send(use, { url: '/login', payload: { username: account.email, password } }), 401)
}

async function ping(use: Use): Promise<void> {
  const token = pick(use)
  if (token) await usePing(use, token)
}

async function usePing(use: Use, token: HeldToken): Promise<void> {
  const { account, variant } = use
  const isForAdmins = variant % 2 === 0
  const url = isForAdmins ? '/sampleprotected/pingadm' : '/sampleprotected/ping'
  const exchange = await sendAs(use, token, { method: 'GET', url })
  if (!exchange?.answer) return
  const roles = account.rolesAt(exchange, account.role)
  const statuses = roles.map((role) => (isForAdmins && role !== 'admin' ? 403 : 200))
  expect(statuses).toContain(exchange.answer.status)
}

async function refresh(use: Use): Promise<void> {
  const { account } = use
  const token = pick(use)
  if (!token) return
  const refreshableFrom = token.expiresAt - SETTINGS.REFRESH_WINDOW * 1000
  const sessionEnd = (token.authTime + SETTINGS.SESSION_LIFETIME) * 1000
  const exchange = await sendAs(
    use,
    token,
    { url: '/refreshtoken' },
    {
      exact: true,
      mayRefuseToo: (exchange) => exchange.sentAt < refreshableFrom || exchange.receivedAt >= sessionEnd,
    },
  )
  if (!exchange) return
  const { answer, sentAt, receivedAt } = exchange
  const refreshed = { from: sentAt, to: answer ? receivedAt : Number.POSITIVE_INFINITY }
  token.refreshed = token.refreshed
    ? { from: token.refreshed.from, to: Math.min(token.refreshed.to, refreshed.to) }
    : refreshed
  if (!answer) return
  expectStatus(exchange, 200)
  expect(receivedAt).toBeGreaterThanOrEqual(refreshableFrom)
  expect(sentAt, 'a session ends').toBeLessThan(sessionEnd)
  account.hold(tokenOf(exchange), token.session)
}

async function logOut(use: Use): Promise<void> {
  const token = pick(use)
  if (!token) return
  const payload = use.variant % 2 ? {} : { payload: { everywhere: false } }
  const exchange = await sendAs(use, token, { url: '/logout', ...payload })
  if (!exchange) return
  expectStatus(exchange, 204)
  const { answer, sentAt, receivedAt } = exchange
  const ended = { from: sentAt, to: answer ? receivedAt : Number.POSITIVE_INFINITY }
  token.session.ended = token.session.ended
    ? { from: token.session.ended.from, to: Math.min(token.session.ended.to, ended.to) }
    : ended
}

async function logOutEverywhere(use: Use): Promise<void> {
  const { account } = use
  const token = pick(use)
  if (!token) return
  const request = { url: '/logout', payload: { everywhere: true } }
  const exchange = await sendAs(use, token, request, { exact: true })
  if (!exchange) return
  expectStatus(exchange, 204)
  if (await settle(use, exchange, { endsTokens: true })) account.endTokens(momentOf(exchange))
}

async function readProfile(use: Use): Promise<void> {
  const { account, service } = use
  const token = pick(use)
  if (!token) return
  const exchange = await sendAs(use, token, { method: 'GET', url: '/profile' })
  if (!exchange?.answer) return
  expectStatus(exchange, 200)
  const { userid, username, name, email, role, language = 'en' } = account
  expect(exchange.answer.body).toMatchObject({ userid, username, name, email, role, language })
  if (service.emailChange === 'immediate') expect(exchange.answer.body).not.toHaveProperty('pendingEmail')
  else if (account.change && isPending(account.change, exchange))
    expect(exchange.answer.body.pendingEmail).toBe(account.change.email)
}

/** Two fields, in two tables. */
async function changeProfile(use: Use): Promise<void> {
  const { account, variant } = use
  const token = pick(use)
  if (!token) return
  const payload = { name: `Ada ${account.lines.length}`, language: ['en', 'fr', 'pt'][variant % 3] ?? 'en' }
  const exchange = await sendAs(use, token, { method: 'PUT', url: '/profile', payload }, { exact: true })
  if (!exchange) return
  expectStatus(exchange, 200)
  if (await settle(use, exchange, payload)) Object.assign(account, payload)
}

async function changePassword(use: Use): Promise<void> {
  const { account } = use
  const token = pick(use)
  if (!token) return
  const password = newPassword(account)
  const payload = { currentPassword: account.password, password }
  const exchange = await sendAs(
    use,
    token,
    { method: 'PUT', url: '/profile/password', payload },
    { exact: true },
  )
  if (!exchange) return
  expectStatus(exchange, 200)
  await storePassword(use, exchange, password)
  if (exchange.answer) account.hold(tokenOf(exchange))
}

async function changePasswordWrongly(use: Use): Promise<void> {
  const { account } = use
  const token = pick(use)
  if (!token) return
  const payload = { currentPassword: account.oldPasswords.at(-1) ?? 'wrong', password: newPassword(account) }
  const exchange = await sendAs(
    use,
    token,
    { method: 'PUT', url: '/profile/password', payload },
    { exact: true },
  )
  if (exchange) expectStatus(exchange, 422)
  account.expectRow(await readRow(use.service, account.userid))
}

async function storePassword(use: Use, exchange: Exchange, password: string): Promise<boolean> {
  const { account } = use
  const change = { passwordHash: hash('sha1', password), endsTokens: true, endsCodes: true }
  const isMade = await settle(use, exchange, change)
  if (!isMade) return false
  account.oldPasswords.push(account.password)
  account.password = password
  account.endTokens(momentOf(exchange))
  return true
}

const newPassword = ({ lines }: AccountHistory): string => numberedPassword(lines.length)

async function requestEmail(use: Use): Promise<void> {
  const { account, service, variant, takenEmail } = use
  const token = pick(use)
  if (!token) return
  const isTaken = variant % 4 === 0
  const email = isTaken ? takenEmail : `${account.username}-${account.lines.length}@example.com`
  const payload = { email, currentPassword: account.password }
  const request: Request = { method: 'PUT', url: '/profile', payload }
  const exchange = await sendAs(use, token, request, { exact: true })
  if (!exchange) return
  if (service.emailChange === 'confirmed') return holdChange(use, exchange, email, isTaken)
  expectStatus(exchange, isTaken ? 409 : 200)
  if (isTaken) return account.expectRow(await readRow(service, account.userid))
  await storeEmail(use, exchange, email, token)
}

async function holdChange(use: Use, exchange: Exchange, email: string, isTaken: boolean): Promise<void> {
  const { account, service } = use
  expectStatus(exchange, 200)
  const found = await readRow(service, account.userid)
  const isStored = exchange.answer !== undefined || found.unusedChanges.includes(email)
  account.expectRow(found, isStored ? { unusedChanges: [email] } : {})
  if (!isStored) return
  const mail = createdDuring(exchange, await service.takeMails(email)).find(
    ({ template }) => template === 'email-change',
  )
  expect(mail !== undefined, 'a code is mailed').toBe(!isTaken)
  account.change = { email, code: mail?.code, since: exchange.sentAt, attempts: 0 }
}

async function storeEmail(use: Use, exchange: Exchange, email: string, token: HeldToken): Promise<void> {
  const { account } = use
  const isMade = await settle(use, exchange, { email, endsTokens: true, endsCodes: true })
  if (!isMade) return
  account.email = email
  account.endTokens(momentOf(exchange), token)
}

async function confirmEmail(use: Use): Promise<void> {
  const { account, service, variant } = use
  const token = pick(use)
  if (!token) return
  const { change } = account
  if (change && !isFresh(change)) return
  const isRight = variant % 3 > 0 && change?.code !== undefined
  const code = isRight ? String(change.code) : otherThan(change?.code)
  const request = { url: '/profile/confirmemail', payload: { code } }
  const exchange = await sendAs(use, token, request)
  if (!exchange) {
    // The code is tried before the token is read again.
    if (change) change.attempts = Number.NaN
    return
  }
  const isTried = change !== undefined && change.attempts < SETTINGS.RESET_ATTEMPTS
  const mayBeTried = isTried || Number.isNaN(change?.attempts)
  if (exchange.answer && isRight && (isTried || exchange.answer.status === 200)) {
    expectStatus(exchange, 200)
    expect(mayBeTried).toBe(true)
    return storeEmail(use, exchange, change.email, token)
  }
  if (exchange.answer) {
    expectStatus(exchange, 422)
    if (change) change.attempts++
    return account.expectRow(await readRow(service, account.userid))
  }
  if (isRight) await storeEmail(use, exchange, change.email, token)
  if (account.change) account.change.attempts = Number.NaN
}

async function changeEmail(use: Use): Promise<void> {
  await logIn(use)
  await requestEmail({ ...use, variant: 1, token: 9 })
  await confirmEmail({ ...use, variant: 1, token: 9 })
}

async function requestReset(use: Use): Promise<void> {
  const { account, service } = use
  const exchange = await send(use, { url: '/login/resetrequest', payload: { email: account.email } })
  expectStatus(exchange, 200)
  if (!exchange.answer) {
    account.lostResets++
    account.reset = undefined
    return
  }
  const [mail, ...others] = createdDuring(exchange, await service.takeMails(account.email)).filter(isReset)
  expect(others).toEqual([])
  if (!mail?.code) throw new Error('No code was mailed')
  account.unusedResets++
  account.reset = {
    token: tokenOf(exchange),
    code: mail.code,
    since: exchange.sentAt,
    attempts: 0,
    isConfirmed: false,
  }
}

const isReset = ({ template }: Mail): boolean => template === 'password-reset'

/** Those of a request: of another that was broken, a mail may come later. */
const createdDuring = ({ sentAt, receivedAt }: Exchange, mails: readonly Mail[]): Mail[] =>
  mails.filter(({ expiresAt }) => {
    const createdAt = expiresAt - SETTINGS.RESET_TTL * 1000
    return createdAt >= sentAt && createdAt <= receivedAt
  })

async function requestResetOfNobody(use: Use): Promise<void> {
  expectStatus(await send(use, { url: '/login/resetrequest', payload: { email: NOBODY } }), 200)
  expect(await use.service.takeMails(NOBODY)).toEqual([])
}

async function confirmReset(use: Use): Promise<void> {
  const { account, variant } = use
  const { reset } = account
  if (!reset || !isFresh(reset)) return
  const isRight = variant % 3 > 0
  const code = isRight ? reset.code : otherThan(reset.code)
  const token = variant % 2 || reset.token === undefined ? {} : { token: reset.token }
  const exchange = await send(use, {
    url: '/login/confirmcode',
    payload: { email: account.email, code, ...token },
  })
  if (!exchange.answer) {
    // Whether it was confirmed, and by which token, is not known.
    account.reset = undefined
    return
  }
  const isTried = !reset.isConfirmed && reset.attempts < SETTINGS.RESET_ATTEMPTS
  expectStatus(exchange, isTried && isRight ? 200 : 422)
  if (isTried) reset.attempts++
  if (exchange.answer.status !== 200) return
  reset.isConfirmed = true
  reset.token = tokenOf(exchange)
}

async function setPassword(use: Use): Promise<void> {
  const { account, variant } = use
  const { reset } = account
  if (!reset || !isFresh(reset)) return
  const isWeak = variant % 4 === 0
  const password = isWeak ? 'short' : newPassword(account)
  const payload = { email: account.email, token: reset.token ?? 'unknown', password }
  const exchange = await send(use, { url: '/login/resetpassword', payload })
  const isUsable = reset.isConfirmed && !isWeak
  expectStatus(exchange, isUsable ? 200 : 422)
  if (!isUsable) return account.expectRow(await readRow(use.service, account.userid))
  const isMade = await storePassword(use, exchange, password)
  // How often it was tried is not known.
  if (!isMade) account.reset = undefined
}

async function resetPassword(use: Use): Promise<void> {
  await requestReset(use)
  await confirmReset({ ...use, variant: 1 })
  await setPassword({ ...use, variant: 1 })
}

async function setRole({ account, service, variant }: Use): Promise<void> {
  const role = ROLES[variant % ROLES.length] ?? 'user'
  account.note(`becomes ${role}`)
  account.setRole(role)
  await patiently(() => service.users.setRole(account.userid, role))
}

async function deleteAndRestore(use: Use): Promise<void> {
  const { account, service } = use
  const from = Date.now()
  account.note('is deleted')
  await patiently(() => service.users.softDelete(account.userid))
  const payload = { username: account.email, password: account.password }
  expectStatus(await send(use, { url: '/login', payload }), 401)
  const exchange = await send(use, { url: '/login/resetrequest', payload: { email: account.email } })
  expectStatus(exchange, 200)
  expect(createdDuring(exchange, await service.takeMails(account.email)).filter(isReset)).toEqual([])
  await patiently(() => service.users.restore(account.userid))
  account.note('is restored')
  account.wasDeleted({ from, to: Date.now() })
  // The decoy is the newest reset of the e-mail.
  account.reset = undefined
}

const momentOf = ({ sentAt, receivedAt }: Exchange) => ({ from: sentAt, to: receivedAt })
const otherThan = (code: string | undefined): string => (code === '000000' ? '000001' : '000000')
