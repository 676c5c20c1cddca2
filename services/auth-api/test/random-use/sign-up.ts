import { hash } from 'node:crypto'
import type { Statement } from '@latchkey/shared/database/database.ts'
import { findProperty, LANGUAGE_PROPERTY } from '@latchkey/shared/users/user.ts'
import { expect } from 'vitest'
import { type KilledReplicas, patiently } from './killed-replicas.ts'
import { expectStatus, send, tokenOf, type Use } from './use.ts'

const PASSWORD = 'N3w-p4ssw0rd!'

/** Somebody new signs up. A killed replica leaves a sign-up that can be confirmed, or none; a user as a whole, or none. */
export async function signUp(use: Use): Promise<void> {
  const { account, service, variant } = use
  const username = `n${account.username}x${account.lines.length}`
  const email = `${username}@example.com`
  const language = ['en', 'fr', 'pt'][variant % 3] ?? 'en'
  const payload = { name: 'Grace', email, username, password: PASSWORD, language }
  const requested = await send(use, { url: '/signup', payload })
  expectStatus(requested, 202)
  const before = await readSignUp(service, email)
  const codes = (await service.takeMails(email)).map(({ code }) => code)
  if (requested.answer) expect([before.pending, codes.length], 'rows and mails of a sign-up').toEqual([1, 1])
  // A transaction of a killed replica may commit between the two reads, but not one half of it.
  expect(codes.length).toBeGreaterThanOrEqual(before.pending)
  const [code] = codes
  if (code === undefined) return
  const token = requested.answer && variant % 2 ? { token: tokenOf(requested) } : {}
  await confirm(use, { email, code, ...token }, { username, language })
}

/** An address of another user: a code is mailed to nobody, and no code confirms it. */
export async function signUpTaken(use: Use): Promise<void> {
  const { account, takenEmail } = use
  const username = `t${account.username}x${account.lines.length}`
  const payload = { email: takenEmail, username, password: PASSWORD }
  const requested = await send(use, { url: '/signup', payload })
  expectStatus(requested, 202)
  if (!requested.answer) return
  const guess = { email: takenEmail, code: '000000', token: tokenOf(requested) }
  expectStatus(await send(use, { url: '/signup/confirm', payload: guess }), 422)
}

async function confirm(
  use: Use,
  payload: { email: string; code: string },
  { username, language }: { username: string; language: string },
): Promise<void> {
  const { service, variant } = use
  const wrong = payload.code === '000000' ? '000001' : '000000'
  if (variant % 4 === 0)
    expectStatus(await send(use, { url: '/signup/confirm', payload: { ...payload, code: wrong } }), 422)
  const confirmed = await send(use, { url: '/signup/confirm', payload })
  expectStatus(confirmed, 200)
  const { pending, user, events } = await readSignUp(service, payload.email)
  if (confirmed.answer) expect(user, 'a confirmed user').toBeDefined()
  expect({ pending, events }, 'a sign-up and its event').toEqual(
    user ? { pending: 0, events: 1 } : { pending: 1, events: 0 },
  )
  if (!user) return expectStatus(await send(use, { url: '/signup/confirm', payload }), 200)
  const { name, role, passwordHash } = user
  expect({ name, username: user.username, role, passwordHash }).toEqual({
    name: 'Grace',
    username,
    role: null,
    passwordHash: hash('sha1', PASSWORD),
  })
  expect(findProperty(user, LANGUAGE_PROPERTY)).toBe(language)
  expectStatus(await send(use, { url: '/signup/confirm', payload }), 422)
  expectStatus(
    await send(use, { url: '/login', payload: { username: payload.email, password: PASSWORD } }),
    200,
  )
  if (!confirmed.answer) return
  const profile = await send(use, { method: 'GET', url: '/profile', token: tokenOf(confirmed) })
  expectStatus(profile, 200)
}

const LOCK: Statement = {
  name: 'use-sign-up-lock',
  text: 'select id from sign_up where email_key = $1 for update',
}
const FIND_CONFIRMED: Statement = {
  name: 'use-sign-up-confirmed',
  text: "select id from audit_event where name = 'signup.confirmed' and userid = $1",
}

/** Waits for a transaction that confirms the sign-up: that of a killed replica may just be committed. */
async function readSignUp({ db, users }: KilledReplicas, email: string) {
  const pending = await patiently(() =>
    db.transaction(async (locked) => (await locked.query(LOCK, [email])).length),
  )
  const user = await patiently(() => users.findByLogin('email', email))
  const events = user ? await patiently(() => db.query(FIND_CONFIRMED, [db.toUuidValue(user.userid)])) : []
  return { pending, user, events: events.length }
}
