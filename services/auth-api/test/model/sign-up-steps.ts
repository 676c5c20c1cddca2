import { expect } from 'vitest'
import { type AccountModel, fold, type ModelSignUp, type ModelUser } from './account-model.ts'
import { LIMITS } from './limits-model.ts'
import type { Answer } from './replicas.ts'
import {
  expectProblem,
  expectStatus,
  expectToken,
  guessesBefore,
  mailsSince,
  otherThan,
  type StepContext,
  together,
  tokenOf,
  toRecipient,
} from './step-context.ts'

/** Usernames of which some are taken. */
const USERNAMES = 3

/** Requests a sign-up with an e-mail that is free in most cases. */
export async function requestSignUp(step: StepContext): Promise<void> {
  const { model, replicas, number, post, limited, choice } = step
  const email = choice % 5 ? step.freeEmail : step.email
  const username = `new${number}-${choice % USERNAMES}`
  const password = choice % 11 ? step.newPassword() : 'short'
  const language = ['fr', undefined][choice % 2]
  const payload = { name: 'Grace', email, username, password, ...(language && { language }) }
  const mailedBefore = await replicas.readMails()
  const answer = await post('/signup', payload)
  if (password === 'short') return expectProblem(answer, 422, 'password-refused')
  if (!model.limits.mayMail('sign-up', limited(email))) return expectStatus(answer, 429)
  expectStatus(answer, 202)
  const owner = model.findUser(email)
  const mailed = mailsSince(mailedBefore, await replicas.readMails())
  const template = owner?.isDeleted ? 'sign-up-deleted' : 'sign-up-taken'
  const told = [owner ? `${template} ${owner.email}` : `sign-up ${email}`]
  expect(mailed.map(toRecipient), 'mails').toEqual(told)
  model.mails.push(...told)
  const known = new Set(model.signUps.map(({ id }) => id))
  const id = [...(await replicas.readState()).signUps.keys()].find((each) => !known.has(each)) ?? ''
  const code = owner ? undefined : mailed[0]?.code
  model.beginSignUp({ ...payload, language, id, code, token: tokenOf(answer) })
}

/** More than a low limit allows. */
export async function requestSignUps(step: StepContext): Promise<void> {
  for (let count = 0; count <= LIMITS.low.resets; count++) await requestSignUp(step)
}

export async function confirmSignUp(step: StepContext): Promise<void> {
  const { model, number, postCode, signUp, choice } = step
  const email = signUp?.email ?? step.email
  const code = choice % 4 ? (signUp?.code ?? '123456') : otherThan(signUp?.code)
  const token = choice % 3 ? (signUp?.token ?? 'none') : 'none'
  const username = choice % 5 === 0 ? `other${number}-${choice % USERNAMES}` : undefined
  const given = { email, code, token, ...(username && { username }) }
  const answer = await postCode('/signup/confirm', given)
  const pending = model.findSignUp(email, token)
  if (!pending || !model.isOpenSignUp(pending)) return expectRefused(answer)
  pending.attempts++
  if (code !== pending.code) return expectRefused(answer)
  const refusals = refusalsOf(model, { email, username: username ?? pending.username })
  if (refusals.length > 0) return expect(refusals).toContain(answer.body.type)
  expectConfirmed(step, answer, { ...pending, username: username ?? pending.username })
  model.endSignUp(pending)
}

/** Several times the right code, on both replicas: it creates one user. */
export async function confirmSignUpTogether(step: StepContext): Promise<void> {
  const { model, replicas, postCode, signUp } = step
  if (!signUp?.code || refusalsOf(model, signUp).length > 0) return
  const isConfirmable = model.isOpenSignUp(signUp)
  const { email, code, token } = signUp
  const answers = await together(4, (replica) => postCode('/signup/confirm', { email, code, token }, replica))
  const [winner, ...others] = answers.toSorted((one, other) => one.status - other.status)
  for (const answer of others) expectRefused(answer)
  if (!winner) return
  if (!isConfirmable) {
    expectRefused(winner)
    signUp.attempts = (await replicas.readState()).signUps.get(signUp.id)?.attempts ?? 0
    return
  }
  expectConfirmed(step, winner, signUp)
  model.endSignUp(signUp)
}

/** All steps: by chance they seldom follow each other. */
export async function signUp(step: StepContext): Promise<void> {
  await requestSignUp(step)
  const atNewest = { ...step, signUp: step.model.signUps.at(-1), choice: 1 }
  for (let guess = 0; guess < guessesBefore(step); guess++) await confirmSignUp({ ...atNewest, choice: 4 })
  await confirmSignUp(atNewest)
}

/** Returns the reasons for which a right code is refused; of two reasons the database finds one. */
function refusalsOf({ users }: AccountModel, { email, username }: Pick<ModelSignUp, 'email' | 'username'>) {
  return [
    users.some((user) => fold(user.email) === fold(email)) ? 'urn:latchkey:problem:signup-refused' : [],
    users.some((user) => user.username === username) ? 'urn:latchkey:problem:username-taken' : [],
  ].flat()
}

function expectConfirmed({ model }: StepContext, answer: Answer, signUp: ModelSignUp): void {
  expectStatus(answer, 200)
  const { userid } = answer.body.data as ModelUser
  const { username, name, email, password, language = 'en' } = signUp
  const user: ModelUser = {
    userid,
    username,
    name,
    email,
    password,
    oldPasswords: [],
    role: 'user',
    language,
    isDeleted: false,
    generation: 0,
  }
  model.users.push(user)
  model.record('signup.confirmed', user)
  expectToken(answer, user)
  model.issue(tokenOf(answer), user)
}

const expectRefused = (answer: Answer): void => expectProblem(answer, 422, 'signup-refused')
