import { hash } from 'node:crypto'
import fc, { type AsyncCommand } from 'fast-check'
import { expect } from 'vitest'
import {
  type AccountModel,
  fold,
  type ModelChange,
  type ModelReset,
  type ModelSignUp,
  type ModelToken,
  type ModelUser,
  SETTINGS,
} from './account-model.ts'
import type { LimitedCall } from './limits-model.ts'
import type { Answer, Mail, Replicas } from './replicas.ts'
import {
  confirmSignUp,
  confirmSignUpTogether,
  requestSignUp,
  requestSignUps,
  signUp,
} from './sign-up-steps.ts'
import {
  emailOf,
  expectProblem,
  expectStatus,
  expectToken,
  type Given,
  given,
  guessesBefore,
  mailsSince,
  otherThan,
  type Run,
  type StepContext,
  type StepRun,
  stepContext,
  together,
  tokenOf,
  toRecipient,
  USERS,
} from './step-context.ts'

const ROLES = ['user', 'admin', 'editor']
const FIRST_PASSWORD = 'c0rrect-Horse!'

export type Step = AsyncCommand<AccountModel, Run>

/** Sequences of all steps. */
export const sequences = (maxCommands: number): fc.Arbitrary<Iterable<Step>> => {
  const arbitraries = Object.entries(STEPS).flatMap(([name, { weight, run }]) =>
    Array<fc.Arbitrary<Step>>(weight).fill(given.map((values) => toCommand(name, values, run))),
  )
  return fc.commands(arbitraries, { maxCommands, size: 'max' })
}

/** Begins a sequence with its users. */
export async function beginSequence(model: AccountModel, { replicas, number }: Run): Promise<void> {
  await replicas.clear()
  for (let index = 0; index < USERS; index++) {
    const [email, username] = [emailOf(number, index), `user${number}-${index}`]
    const [name, role] = ['Ada', index === 0 ? 'admin' : 'user']
    const passwordHash = hash('sha1', FIRST_PASSWORD)
    const userid = await replicas.users.insert({ name, email, username, passwordHash, role })
    model.users.push({
      userid,
      username,
      name,
      email,
      role,
      password: FIRST_PASSWORD,
      oldPasswords: [],
      language: undefined,
      isDeleted: false,
      generation: 0,
    })
  }
}

function toCommand(name: string, values: Given, run: StepRun): Step {
  return {
    check: () => true,
    async run(model, sequence) {
      if (performance.now() > sequence.endsAt) return
      await run(stepContext(model, sequence, values))
      await expectAgreement(model, sequence)
    },
    toString: () => `${name}(${Object.values(values).map(String).join(' ')})`,
  }
}

/** The steps, by name; `weight` says how often each occurs. */
const STEPS: Record<string, { weight: number; run: StepRun }> = {
  logIn: { weight: 4, run: logIn },
  logInWrongly: { weight: 4, run: logInWrongly },
  refresh: { weight: 3, run: refresh },
  refreshInTime: { weight: 2, run: refreshInTime },
  readProfile: { weight: 1, run: readProfile },
  changeProfile: { weight: 1, run: changeProfile },
  logOut: { weight: 1, run: logOut },
  logOutEverywhere: { weight: 1, run: logOutEverywhere },
  changePassword: { weight: 3, run: changePassword },
  changeEmail: { weight: 3, run: changeEmail },
  confirmEmail: { weight: 3, run: confirmEmail },
  confirmEmailTogether: { weight: 1, run: confirmEmailTogether },
  changeAndConfirmEmail: { weight: 3, run: changeAndConfirmEmail },
  requestReset: { weight: 4, run: requestReset },
  confirmRightCode: { weight: 4, run: confirmRightCode },
  confirmWrongCode: { weight: 2, run: confirmWrongCode },
  setPassword: { weight: 4, run: setPassword },
  resetPassword: { weight: 4, run: resetPassword },
  setWeakPassword: { weight: 1, run: setWeakPassword },
  guessTogether: { weight: 1, run: guessTogether },
  confirmTogether: { weight: 1, run: confirmTogether },
  setPasswordTogether: { weight: 1, run: setPasswordTogether },
  requestSignUp: { weight: 2, run: requestSignUp },
  requestSignUps: { weight: 1, run: requestSignUps },
  confirmSignUp: { weight: 3, run: confirmSignUp },
  confirmSignUpTogether: { weight: 1, run: confirmSignUpTogether },
  signUp: { weight: 2, run: signUp },
  setRole: { weight: 2, run: setRole },
  deleteOrRestore: { weight: 1, run: deleteOrRestore },
  waitABit: { weight: 3, run: waitABit },
  waitForAnEdge: { weight: 2, run: waitForAnEdge },
  jumpBack: { weight: 1, run: jumpBack },
}

async function logIn(step: StepContext): Promise<void> {
  const { model, email, user: someone } = step
  const user = model.findUser(email) ?? someone
  await logInAs(step, user, user.password)
}

async function logInWrongly(step: StepContext): Promise<void> {
  const { model, email, choice } = step
  const user = model.findUser(email)
  await logInAs(step, user, user?.oldPasswords.at(-1) ?? `wrong ${choice}`)
}

async function logInAs(step: StepContext, user: ModelUser | undefined, password: string): Promise<void> {
  const { model, post, limited, isUpperCase } = step
  const email = user?.email ?? step.email
  const username = isUpperCase ? email.toUpperCase() : email
  const answer = await post('/login', { username, password })
  const call = limited(username)
  if (!model.limits.mayTry('login', call)) return expectStatus(answer, 429)
  if (!user || user.isDeleted || user.password !== password) {
    model.limits.countFailure('login', call)
    return expectStatus(answer, 401)
  }
  model.limits.remember(call)
  expectToken(answer, user)
  model.issue(tokenOf(answer), user)
}

async function refresh({ model, replicas, replica, token }: StepContext): Promise<void> {
  if (!token) return
  const answer = await replicas.send(replica, { url: '/refreshtoken', token: token.jwt })
  if (!expectAdmission(answer, model, token)) {
    if (mayRefresh(model, token) && model.isReuse(token)) model.revokeSession(token)
    return
  }
  const isAllowed = mayRefresh(model, token) && model.isValidNow(token)
  expect(isAllowed, 'may be refreshed').toBe(true)
  expectToken(answer, token.user)
  model.use(token)
  model.issue(tokenOf(answer), token.user, { session: token.session, pair: model.successorOf(token) })
}

const mayRefresh = (model: AccountModel, token: ModelToken): boolean =>
  model.isRefreshable(token) && !model.isTooOld(token)

/** All steps of a refresh that succeeds: a login, and the first moment at which its token can be refreshed. */
async function refreshInTime(step: StepContext): Promise<void> {
  await logIn(step)
  const atNewest = { ...step, token: step.model.tokens.at(-1), choice: 0 }
  await waitForAnEdge(atNewest)
  await refresh(atNewest)
}

async function readProfile({ model, replicas, replica, token }: StepContext): Promise<void> {
  if (!token) return
  const answer = await replicas.send(replica, { method: 'GET', url: '/profile', token: token.jwt })
  if (!expectAdmission(answer, model, token)) return
  expect(token.user.isDeleted).toBe(false)
  expectProfile(answer, token.user, model)
}

async function changeProfile({ model, replicas, replica, token, choice }: StepContext): Promise<void> {
  if (!token) return
  const payload = { name: `Ada ${choice}`, language: ['en', 'fr', 'pt'][choice % 3] }
  const answer = await replicas.send(replica, { method: 'PUT', url: '/profile', payload, token: token.jwt })
  if (!expectAdmission(answer, model, token)) return
  expect(model.isValidNow(token), 'may change the profile').toBe(true)
  Object.assign(token.user, payload)
  expectProfile(answer, token.user, model)
}

async function logOut(step: StepContext): Promise<void> {
  const { model, replicas, replica, token, choice } = step
  if (!token) return
  const body = choice % 2 ? {} : { payload: { everywhere: false } }
  const answer = await replicas.send(replica, { url: '/logout', token: token.jwt, ...body })
  if (!expectAdmission(answer, model, token)) return
  expectStatus(answer, 204)
  model.revokeSession(token)
  await expectEndedHere(step, token)
}

async function logOutEverywhere(step: StepContext): Promise<void> {
  const { model, replicas, replica, token } = step
  if (!token) return
  if (step.choice % 2) await logOutElsewhere(step)
  const payload = { everywhere: true }
  const answer = await replicas.send(replica, { url: '/logout', payload, token: token.jwt })
  if (!expectAdmission(answer, model, token)) return
  expectStatus(answer, 204)
  expect(model.isValidNow(token), 'may end the others').toBe(true)
  model.revokeTokens(token.user)
  model.record('sessions.logged_out', token.user)
  await expectEndedHere(step, token)
}

/** The replica that ends a token refuses it at once. */
async function expectEndedHere({ replicas, replica }: StepContext, token: ModelToken): Promise<void> {
  const request = { method: 'GET', url: '/sampleprotected/ping', token: token.jwt } as const
  expectStatus(await replicas.send(replica, request), 401)
}

async function changePassword(step: StepContext): Promise<void> {
  const { model, replicas, replica, address, token, choice, limited, newPassword } = step
  if (!token) return
  const { user } = token
  const currentPassword = choice % 4 ? user.password : (user.oldPasswords.at(-1) ?? 'wrong')
  const password = choice % 5 ? newPassword() : 'short'
  const answer = await replicas.send(replica, {
    method: 'PUT',
    url: '/profile/password',
    payload: { current_password: currentPassword, password },
    token: token.jwt,
    address,
  })
  if (!expectAdmission(answer, model, token)) return
  if (password === 'short') return expectProblem(answer, 422, 'password-refused')
  expect(model.isValidNow(token), 'may change the password').toBe(true)
  if (!provesPassword(step, answer, limited(user.email), currentPassword === user.password)) return
  model.setPassword(user, password)
  model.record('password.changed', user)
  await expectEndedHere(step, token)
  expectToken(answer, user)
  model.issue(tokenOf(answer), user)
}

/** The current password counts with the logins. */
function provesPassword(
  { model }: StepContext,
  answer: Answer,
  call: LimitedCall,
  isRight: boolean,
): boolean {
  if (!model.limits.mayTry('login', call)) {
    expectStatus(answer, 429)
    return false
  }
  if (isRight) {
    model.limits.remember(call)
    return true
  }
  model.limits.countFailure('login', call)
  expectProblem(answer, 422, 'wrong-password')
  return false
}

async function changeEmail(step: StepContext): Promise<void> {
  const { model, replicas, replica, address, token, email, choice } = step
  if (!token) return
  const { user } = token
  const password = choice % 5 ? user.password : (user.oldPasswords.at(-1) ?? 'wrong')
  const currentPassword = choice % 7 ? { current_password: password } : {}
  const mailedBefore = await replicas.readMails()
  const answer = await replicas.send(replica, {
    method: 'PUT',
    url: '/profile',
    payload: { email, ...currentPassword },
    token: token.jwt,
    address,
  })
  if (!expectAdmission(answer, model, token)) return
  const mailed = mailsSince(mailedBefore, await replicas.readMails())
  const isOther = fold(user.email) !== fold(email)
  if (replicas.emailChange === 'confirmed' && isOther)
    return await requestEmail(step, token, answer, { password: currentPassword.current_password, mailed })
  const call = step.limited(user.userid)
  const isLimited = replicas.emailChange === 'immediate' && isOther
  if (isLimited && !(mayMailChange(step, user) && model.limits.mayTry('email', call)))
    return expectStatus(answer, 429)
  expect(model.isValidNow(token), 'may change the e-mail').toBe(true)
  if (isTakenByOther(model, user, email)) {
    model.limits.countFailure('email', call)
    return expectStatus(answer, 409)
  }
  expect(mailed.map(toRecipient), 'notice').toEqual(isOther ? [`email-changed ${user.email}`] : [])
  model.setEmail(token, email)
  expectProfile(answer, user, model)
}

/** A mail with a code is sent to an address that nobody has; else its owner is told. */
async function requestEmail(
  step: StepContext,
  { user, ...token }: ModelToken,
  answer: Answer,
  { password, mailed }: { password: string | undefined; mailed: readonly Mail[] },
): Promise<void> {
  const { model, replicas, email, limited } = step
  expect(model.isValidNow({ user, ...token }), 'may change the e-mail').toBe(true)
  if (password === undefined) return expectProblem(answer, 422, 'wrong-password')
  if (!provesPassword(step, answer, limited(user.email), password === user.password)) return
  if (!mayMailChange(step, user)) return expectStatus(answer, 429)
  const owner = model.findUser(email)
  const told = owner?.isDeleted ? [] : [owner ? `email-in-use ${owner.email}` : `email-change ${email}`]
  expect(mailed.map(toRecipient), 'mails').toEqual(told)
  model.mails.push(...told)
  const known = new Set(model.changes.map(({ id }) => id))
  const id = [...(await replicas.readState()).changes.keys()].find((each) => !known.has(each)) ?? ''
  model.beginChange({ id, user, email, code: owner ? undefined : mailed[0]?.code })
  model.record('email.change_requested', user)
  expectProfile(answer, user, model)
}

/** Counts a change to another mailbox for the user and for the address; false when it is refused. */
const mayMailChange = ({ model, limited, email }: StepContext, user: ModelUser): boolean =>
  model.limits.mayMail('email-change', limited(user.userid)) &&
  model.limits.mayMail('email-change-to', limited(email))

function isTakenByOther(model: AccountModel, user: ModelUser, email: string): boolean {
  const owner = model.findUser(email)
  return owner !== undefined && owner !== user
}

async function confirmEmail({
  model,
  replicas,
  postCode,
  replica,
  token,
  choice,
}: StepContext): Promise<void> {
  if (!token) return
  const { user } = token
  const change = model.findChange(user)
  const code = choice % 3 ? (change?.code ?? '123456') : otherThan(change?.code)
  const mailedBefore = await replicas.readMails()
  const answer = await postCode('/profile/confirmemail', { code }, replica, token.jwt)
  const isTried = change !== undefined && model.isOpenChange(change)
  if (!expectAdmission(answer, model, token)) {
    // A token that has ended by then may have cost an attempt.
    if (isTried && code === change.code) await expectChangeAttempts(replicas, change, 1)
    return
  }
  if (isTried) change.attempts++
  if (!isTried || code !== change.code) return expectProblem(answer, 422, 'email-change-refused')
  expect(model.isValidNow(token), 'may confirm the e-mail').toBe(true)
  if (isTakenByOther(model, user, change.email)) return expectStatus(answer, 409)
  const mailed = mailsSince(mailedBefore, await replicas.readMails())
  expect(mailed.map(toRecipient), 'notice').toEqual([`email-changed ${user.email}`])
  model.setEmail(token, change.email)
  expectProfile(answer, user, model)
}

async function confirmEmailTogether({ model, replicas, postCode, token }: StepContext): Promise<void> {
  if (!token) return
  const change = model.findChange(token.user)
  const isRight = change?.code !== undefined && !isTakenByOther(model, token.user, change.email)
  if (!isRight || !model.isValidNow(token)) return
  const isOpen = model.isOpenChange(change)
  const payload = { code: change.code }
  const answers = await together(4, (replica) =>
    postCode('/profile/confirmemail', payload, replica, token.jwt),
  )
  const [winner, ...others] = answers.toSorted((one, other) => one.status - other.status)
  for (const answer of others) expectProblem(answer, 422, 'email-change-refused')
  if (!winner) return
  if (!isOpen) return expectProblem(winner, 422, 'email-change-refused')
  await expectChangeAttempts(replicas, change, 4)
  model.setEmail(token, change.email)
  expectProfile(winner, token.user, model)
}

/** Expects attempts within bounds: how many of several calls were counted is chance. */
async function expectChangeAttempts(replicas: Replicas, change: ModelChange, calls: number): Promise<void> {
  const attempts = (await replicas.readState()).changes.get(change.id)?.attempts ?? 0
  expect(attempts, 'attempts').toBeGreaterThanOrEqual(change.attempts)
  expect(attempts, 'attempts').toBeLessThanOrEqual(change.attempts + calls)
  change.attempts = attempts
}

/** All steps of a change, by a user who has just logged in: by chance they seldom follow each other. */
async function changeAndConfirmEmail(step: StepContext): Promise<void> {
  await logIn(step)
  const email = step.choice % 4 ? step.freeEmail : step.email
  const atNewest = { ...step, email, token: step.model.tokens.at(-1), choice: 1 }
  await changeEmail(atNewest)
  for (let guess = 0; guess < guessesBefore(step); guess++) await confirmEmail({ ...atNewest, choice: 0 })
  if (step.choice % 3 === 0) await logOutElsewhere(atNewest)
  await confirmEmail(atNewest)
}

/** Ends a token on the other replica, while this one remembers it as valid. */
async function logOutElsewhere(step: StepContext): Promise<void> {
  await readProfile(step)
  await logOut({ ...step, replica: 1 - step.replica })
}

async function requestReset(step: StepContext): Promise<void> {
  const { model, replicas, email, post, limited } = step
  const before = new Set((await replicas.readState()).resets.keys())
  const mailedBefore = await replicas.readMails()
  const answer = await post('/login/resetrequest', { email })
  if (!model.limits.mayMail('reset', limited(email))) return expectStatus(answer, 429)
  expectStatus(answer, 200)
  const id = [...(await replicas.readState()).resets.keys()].find((each) => !before.has(each)) ?? ''
  const mails = mailsSince(mailedBefore, await replicas.readMails())
  const found = model.findUser(email)
  const user = found?.isDeleted ? undefined : found
  const told = user ? [`password-reset ${user.email}`] : []
  expect(mails.map(toRecipient), 'mails').toEqual(told)
  model.mails.push(...told)
  model.beginReset({ id, user, email, token: tokenOf(answer), code: mails[0]?.code })
}

async function confirmRightCode(step: StepContext): Promise<void> {
  await confirm(step, step.reset?.code ?? '123456')
}

async function confirmWrongCode(step: StepContext): Promise<void> {
  await confirm(step, otherThan(step.reset?.code))
}

async function confirm({ model, postCode, email, reset, choice }: StepContext, code: string): Promise<void> {
  const address = reset?.email ?? email
  const token = choice % 3 === 0 ? undefined : (reset?.tokens.at(choice % 2 ? -1 : 0) ?? 'none')
  const answer = await postCode('/login/confirmcode', { email: address, code, ...(token ? { token } : {}) })
  const newest = model.findReset(address)
  const isTried =
    newest && (token === undefined || token === newest.tokens.at(-1)) && model.isConfirmable(newest)
  if (!isTried) return expectRefusedReset(answer)
  newest.attempts++
  if (code !== newest.code) return expectRefusedReset(answer)
  expectConfirmed(answer, newest, token)
}

async function setPassword({
  model,
  postCode,
  email,
  reset,
  choice,
  newPassword,
}: StepContext): Promise<void> {
  const address = reset?.email ?? email
  const token = reset?.tokens.at(choice % 4 === 0 ? 0 : -1) ?? 'none'
  const password = newPassword()
  const answer = await postCode('/login/resetpassword', { email: address, token, password })
  const newest = model.findReset(address)
  const isUsable = newest && token === newest.tokens.at(-1) && model.isUsable(newest) && model.mayHash(newest)
  if (!isUsable || !newest.user) return expectRefusedReset(answer)
  expectStatus(answer, 200)
  newest.attempts++
  model.setPassword(newest.user, password)
  model.record('password.reset', newest.user)
}

/** All steps of a reset: by chance they seldom follow each other. */
async function resetPassword(step: StepContext): Promise<void> {
  await requestReset(step)
  const atNewest = () => ({ ...step, reset: step.model.resets.at(-1) })
  await confirmRightCode(atNewest())
  await setPassword(atNewest())
}

async function setWeakPassword({ model, postCode, reset }: StepContext): Promise<void> {
  if (!reset) return
  const token = reset.tokens.at(-1) ?? ''
  const answer = await postCode('/login/resetpassword', { email: reset.email, token, password: 'short' })
  const newest = model.findReset(reset.email)
  expectStatus(answer, 422)
  const isUsable = newest === reset && model.isUsable(newest)
  expect(answer.body.violations, 'violations').toEqual(isUsable ? expect.any(Array) : undefined)
}

/** Wrong codes at the same time, on both replicas. */
async function guessTogether({ model, postCode, reset, choice }: StepContext): Promise<void> {
  if (!reset) return
  const payload = { email: reset.email, code: otherThan(reset.code) }
  const answers = await together(2 + (choice % 7), (replica) =>
    postCode('/login/confirmcode', payload, replica),
  )
  for (const answer of answers) expectRefusedReset(answer)
  const newest = model.findReset(reset.email)
  // A wrong code for one reset may be the right one for the newest.
  for (const _ of answers) if (newest && model.isConfirmable(newest)) newest.attempts++
}

async function confirmTogether(step: StepContext): Promise<void> {
  const { model, replicas, postCode, reset } = step
  const token = reset?.tokens.at(-1)
  if (!reset?.code || !token) return
  const payload = { email: reset.email, code: reset.code, token }
  const answers = await together(4, (replica) => postCode('/login/confirmcode', payload, replica))
  const isNewest = model.findReset(reset.email) === reset
  const isConfirmable = isNewest && model.isConfirmable(reset)
  const [winner, ...others] = answers.toSorted((one, other) => one.status - other.status)
  for (const answer of others) expectRefusedReset(answer)
  if (!winner) return
  if (!isConfirmable) return expectRefusedReset(winner)
  await expectAttempts(replicas, reset, 4)
  expectConfirmed(winner, reset, token)
}

/** New passwords at the same time, with logins that know the old one. */
async function setPasswordTogether(step: StepContext): Promise<void> {
  const { model, replicas, post, postCode, reset, limited, newPassword } = step
  const token = reset?.tokens.at(-1)
  if (!reset || !token) return
  const passwords = [newPassword(), newPassword(), newPassword()]
  const [newest, owner] = [model.findReset(reset.email), model.findUser(reset.email)]
  const isUsable = newest === reset && model.isUsable(reset) && model.mayHash(reset)
  const generation = owner?.generation
  const mayLogIn = owner && !owner.isDeleted && model.limits.mayTry('login', limited(reset.email))
  const [answers, [login]] = await Promise.all([
    together(passwords.length, (replica, index) =>
      postCode('/login/resetpassword', { email: reset.email, token, password: passwords[index] }, replica),
    ),
    together(mayLogIn ? 1 : 0, () => post('/login', { username: reset.email, password: owner?.password })),
  ])
  const winner = answers.findIndex(({ status }) => status === 200)
  for (const answer of answers.filter((_, index) => index !== winner)) expectRefusedReset(answer)
  expect(winner >= 0, 'one new password is set').toBe(isUsable)
  if (isUsable && owner) {
    await expectAttempts(replicas, reset, passwords.length)
    model.setPassword(owner, passwords[winner] ?? '')
    model.record('password.reset', owner)
  }
  if (!login || !owner || generation === undefined) return
  if (login.status === 200) {
    model.limits.remember(limited(reset.email))
    model.issue(tokenOf(login), owner, { generation })
  } else {
    // It read the user after the change.
    expectStatus(login, isUsable ? 401 : 200)
    model.limits.countFailure('login', limited(reset.email))
  }
}

async function setRole({ model, replicas, user, choice }: StepContext): Promise<void> {
  model.change(user, { role: ROLES[choice % ROLES.length] ?? '' })
  await replicas.users.setRole(user.userid, user.role)
}

async function deleteOrRestore({ model, replicas, user }: StepContext): Promise<void> {
  model.change(user, { isDeleted: !user.isDeleted })
  await (user.isDeleted ? replicas.users.softDelete(user.userid) : replicas.users.restore(user.userid))
}

async function waitABit({ replicas: { time }, choice }: StepContext): Promise<void> {
  const ms = [1, 900, 1_000, 2_500, 5_000, 5_001, 60_000, 299_000, 600_000, 3_301_000][choice % 10] ?? 0
  time.now += ms
  time.elapsed += ms
}

/** Waits until a token can be refreshed or ends, or until a session or a code ends; a millisecond before, or exactly then. */
async function waitForAnEdge({
  model,
  replicas: { time },
  token,
  reset,
  choice,
}: StepContext): Promise<void> {
  const edges = [
    token && token.expiresAt - SETTINGS.refreshWindowMs,
    token?.expiresAt,
    token?.pair.replaced?.from,
    token && token.session.startedAt + SETTINGS.sessionLifetimeMs,
    reset?.expiresAt,
    token && model.findChange(token.user)?.expiresAt,
  ]
  const edge = (edges[choice % edges.length] ?? 0) - (Math.floor(choice / edges.length) % 2)
  if (edge <= time.now) return
  time.elapsed += edge - time.now
  time.now = edge
}

/** The wall clock is corrected. */
async function jumpBack({ replicas: { time }, choice }: StepContext): Promise<void> {
  time.now -= [1, 1_000, 4_000, 60_000, 700_000, 4_000_000][choice % 6] ?? 0
}

/** True where a replica admitted the bearer of a token, as it may. */
function expectAdmission(answer: Answer, model: AccountModel, token: ModelToken): boolean {
  const isAdmitted = answer.status !== 401
  const roles = model.admissions(token)
  // A route may read the user again, and refuse a token that the replica remembers as valid.
  const mayRefuse = roles.has(undefined) || !model.isValidNow(token) || isUnrefreshable(answer, model, token)
  expect(isAdmitted ? roles.size > 1 || !roles.has(undefined) : mayRefuse, JSON.stringify(answer)).toBe(true)
  return isAdmitted
}

/** True where a refresh was refused for its time. */
const isUnrefreshable = ({ body }: Answer, model: AccountModel, token: ModelToken): boolean =>
  (body.type === 'urn:latchkey:problem:token-not-refreshable' && !model.isRefreshable(token)) ||
  (String(body.detail).startsWith('The session is too old') && model.isTooOld(token))

const expectRefusedReset = (answer: Answer): void => expectProblem(answer, 422, 'reset-refused')

function expectConfirmed(answer: Answer, reset: ModelReset, token: string | undefined): void {
  expectStatus(answer, 200)
  if (token !== undefined) expect(tokenOf(answer)).toBe(token)
  else expect(reset.tokens).not.toContain(tokenOf(answer))
  reset.isConfirmed = true
  reset.tokens.push(tokenOf(answer))
}

/** Expects the attempts after calls at the same time: one succeeds, and how many were counted by then is chance. */
async function expectAttempts(replicas: Replicas, reset: ModelReset, calls: number): Promise<void> {
  const attempts = (await replicas.readState()).resets.get(reset.id)?.attempts ?? 0
  expect(attempts, 'attempts').toBeGreaterThan(reset.attempts)
  expect(attempts, 'attempts').toBeLessThanOrEqual(reset.attempts + calls)
  reset.attempts = attempts
}

function expectProfile(answer: Answer, user: ModelUser, model: AccountModel): void {
  expectStatus(answer, 200)
  expect(answer.body.pending_email, 'pending e-mail').toBe(model.pendingEmail(user))
  const { userid, username, name, email, role, language = 'en' } = user
  expect(answer.body).toMatchObject({ userid, username, name, email, role, language })
}

/** The database and every token ever issued agree with the model, on each replica. */
async function expectAgreement(model: AccountModel, { replicas }: Run): Promise<void> {
  const { users, resets, changes, signUps, events, mails } = await replicas.readState()
  expect(users, 'users').toEqual(new Map(model.users.map((user) => [user.userid, rowOf(user)])))
  expect(resets.size, 'resets').toBe(model.resets.length)
  for (const reset of model.resets)
    expect(resets.get(reset.id), `reset of ${reset.email}`).toEqual({
      userid: reset.user?.userid ?? expect.any(String),
      email: reset.email,
      attempts: reset.attempts,
      expiresAt: reset.expiresAt,
      isConfirmed: reset.isConfirmed,
      isUsed: reset.isUsed,
    })
  expect(changes.size, 'changes of e-mail').toBe(model.changes.length)
  for (const { id, user, email, attempts, expiresAt, isUsed } of model.changes)
    expect(changes.get(id), `change of ${user.username}`).toEqual({
      userid: user.userid,
      email,
      attempts,
      expiresAt,
      isUsed,
    })
  expect(signUps, 'sign-ups').toEqual(new Map(model.signUps.map((each) => [each.id, signUpRowOf(each)])))
  expect(events, 'events').toEqual(model.events.toSorted())
  expect(mails, 'mails').toEqual(model.mails.toSorted())
  for (const replica of [0, 1])
    for (const token of model.tokens) await expectTokenState(model, replicas, replica, token)
}

const signUpRowOf = ({ email, username, attempts, expiresAt }: ModelSignUp) => ({
  email,
  username,
  attempts,
  expiresAt,
})

const rowOf = ({ username, name, email, password, role, isDeleted, language }: ModelUser) => ({
  username,
  name,
  email,
  passwordHash: hash('sha1', password),
  role,
  isDeleted,
  language: language === undefined ? [] : [language],
})

async function expectTokenState(model: AccountModel, replicas: Replicas, replica: number, token: ModelToken) {
  const url = '/sampleprotected/pingadm'
  const { status } = await replicas.send(replica, { method: 'GET', url, token: token.jwt })
  const expected = [...model.admissions(token)].map(statusOfPing)
  expect(expected, `token ${model.tokens.indexOf(token)} of ${token.user.username} on ${replica}`).toContain(
    status,
  )
  if (status !== 401) model.use(token)
}

const statusOfPing = (role: string | undefined) => (role === 'admin' ? 200 : role === undefined ? 401 : 403)
