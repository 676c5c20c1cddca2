import { AppError } from '@latchkey/shared/app-error.ts'
import { aTransaction } from '@latchkey/shared/database/test/a-transaction.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { describe, expect, it } from 'vitest'
import { aClient } from '../../test/a-client.ts'
import type { Reset } from './reset-repository.ts'
import { createSetPassword } from './set-password.ts'

const NOW = 1_700_000_000_000
const ADA = ada({ email: 'Ada@example.com' })
const CONFIRMED: Reset = {
  id: '01985f0c-0000-4000-8000-000000000000',
  userid: ADA.userid,
  email: 'ada@example.com',
  tokenHash: 'hash of the token',
  codeHash: 'hash of the code',
  expiresAt: new Date(NOW + 1),
  confirmedAt: new Date(NOW - 1000),
  usedAt: undefined,
}
interface Situation {
  /** The newest reset of the e-mail. */
  reset?: Reset | undefined
  /** The user of the reset before the hash, and inside the transaction. */
  users?: readonly [User | undefined, User | undefined]
  isCounted?: boolean
  isFirst?: boolean
}

/** Sets a password; returns what it did, in its order, and how it was refused. */
async function set(situation: Situation = {}) {
  const { users = [ADA, ADA], isCounted = true, isFirst = true } = situation
  const steps: string[] = []
  const step = <Result>(name: string, result: Result) => {
    steps.push(name)
    return Promise.resolve(result)
  }
  const setPassword = createSetPassword({
    attemptCode: (_client, _account, _refusal, attempt) => attempt(),
    resets: {
      find: async (email) => {
        const reset = 'reset' in situation ? situation.reset : CONFIRMED
        return reset && email.toLowerCase() === CONFIRMED.email ? [reset] : []
      },
      countNewPassword: (id, maximum, now) =>
        step(`count ${id} up to ${maximum} at ${now.getTime()}`, isCounted),
    },
    users: { findById: (userid) => step('find', userid === ADA.userid ? users[0] : undefined) },
    secrets: { isHashOf: (stored, id, value) => stored === `hash of ${value}` && id === CONFIRMED.id },
    passwords: { hash: (password) => step('hash', `hash of ${password}`) },
    policy: DEFAULT_POLICY,
    attempts: 5,
    databaseTime: () => NOW,
    transaction: (work) => work(aTransaction({ execute: ({ name }) => step(name, 1) })),
    usersIn: (db) => ({
      ...createUserRepository(db),
      lockAndFind: (userid) => step(`lock ${userid}`, userid === ADA.userid ? users[1] : undefined),
      setPassword: (userid, hash) => step(`store ${hash} of ${userid}`, 1),
      setProperty: () => step('end tokens', undefined),
    }),
    resetsIn: () => ({ use: (id, now) => step(`use ${id} at ${now.getTime()}`, isFirst) }),
    notify: (_db, { email }, { template }, address) =>
      step(`${template} of ${address} to ${email}`, undefined),
  })
  const given = { email: 'ADA@example.com', token: 'the token', password: 'c0rrect-Horse!' }
  const write = (_: unknown, { name }: { name: string }) => step(`write ${name}`, undefined)
  const outcome = await setPassword(given, aClient({ write })).catch((error) =>
    error instanceof AppError ? error.code : Promise.reject(error),
  )
  return { outcome, steps }
}

const COUNTED = `count ${CONFIRMED.id} up to 10 at ${NOW}`
const LOCKED = `lock ${ADA.userid}`
const USED = `use ${CONFIRMED.id} at ${NOW}`

it('counts, hashes, locks the user, uses the reset, ends tokens and codes, and records it', async () => {
  const { outcome, steps } = await set()
  expect(outcome).toBe('the token')
  expect(steps).toEqual([
    'find',
    COUNTED,
    'hash',
    LOCKED,
    USED,
    `store hash of c0rrect-Horse! of ${ADA.userid}`,
    'end tokens',
    'password_reset-end-all',
    'email_change-end-all',
    'factor-delete-pending',
    'write password.reset',
    `password-changed of 192.0.2.1 to ${ADA.email}`,
  ])
})

const MOVED = { ...ADA, email: 'ada@example.net' }
const DELETED = { ...ADA, deletedAt: new Date(NOW) }
const WITHOUT_EMAIL = { ...ADA, email: null }

describe('refuses', () => {
  it.each<{ why: string; situation: Situation; steps: string[] }>([
    { why: 'no reset', situation: { reset: undefined }, steps: [] },
    {
      why: 'another token',
      situation: { reset: { ...CONFIRMED, tokenHash: 'hash of another' } },
      steps: [],
    },
    {
      why: 'an unconfirmed reset',
      situation: { reset: { ...CONFIRMED, confirmedAt: undefined } },
      steps: [],
    },
    { why: 'a used reset', situation: { reset: { ...CONFIRMED, usedAt: new Date(NOW - 1) } }, steps: [] },
    {
      why: 'a reset that expires now',
      situation: { reset: { ...CONFIRMED, expiresAt: new Date(NOW) } },
      steps: [],
    },
    { why: 'an unknown user', situation: { users: [undefined, undefined] }, steps: ['find'] },
    { why: 'a deleted user', situation: { users: [DELETED, DELETED] }, steps: ['find'] },
    { why: 'a user with another e-mail', situation: { users: [MOVED, MOVED] }, steps: ['find'] },
    { why: 'a user without e-mail', situation: { users: [WITHOUT_EMAIL, WITHOUT_EMAIL] }, steps: ['find'] },
    { why: 'one hash too many', situation: { isCounted: false }, steps: ['find', COUNTED] },
  ])('without a hash: $why', async ({ situation, steps }) => {
    expect(await set(situation)).toEqual({ outcome: 'reset_refused', steps })
  })

  it.each<{ why: string; situation: Situation; steps: string[] }>([
    { why: 'a user whose row is gone', situation: { users: [ADA, undefined] }, steps: [LOCKED] },
    { why: 'a user who was deleted', situation: { users: [ADA, DELETED] }, steps: [LOCKED] },
    {
      why: 'a user whose e-mail was changed',
      situation: { users: [ADA, MOVED] },
      steps: [LOCKED],
    },
    { why: 'a reset that was used', situation: { isFirst: false }, steps: [LOCKED, USED] },
  ])('what changes during the hash, and stores nothing: $why', async ({ situation, steps }) => {
    expect(await set(situation)).toEqual({
      outcome: 'reset_refused',
      steps: ['find', COUNTED, 'hash', ...steps],
    })
  })
})
