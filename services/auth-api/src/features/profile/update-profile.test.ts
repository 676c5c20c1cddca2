import type { Transaction } from '@latchkey/shared/database/database.ts'
import { postgres } from '@latchkey/shared/database/postgres/dialect.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { createUserRepository } from '@latchkey/shared/users/user-repository.ts'
import { expect, it } from 'vitest'
import { createUpdateProfile, type ProfileChange } from './update-profile.ts'

const ADA: User = {
  userid: '6f1c4d5e-0000-4000-8000-000000000000',
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: 'user',
  passwordHash: '',
  createdAt: null,
  updatedAt: null,
  deletedAt: null,
  properties: [],
}
const CALLER = {
  claims: {
    iss: 'latchkey',
    sub: ADA.userid,
    iat: 1_000,
    nbf: 1_000,
    exp: 4_600,
    jti: 'one',
    data: { userid: ADA.userid, name: 'Ada', role: 'user' },
  },
  audit: { address: '192.0.2.1', report: () => undefined, write: async () => undefined },
}
const transaction: Transaction = {
  dialect: postgres,
  query: async () => [],
  execute: async () => 0,
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  afterCommit: () => undefined,
}

/** The steps of an update, in their order; `refusedAt` is one that throws. */
async function stepsOf(change: ProfileChange, refusedAt?: string): Promise<string[]> {
  const steps: string[] = []
  async function step<Result>(name: string, result: Result): Promise<Result> {
    steps.push(name)
    if (name === refusedAt) throw new Error('refused')
    return result
  }
  const updateProfile = createUpdateProfile({
    transaction: (work) => work(transaction),
    usersOf: (db) => ({
      ...createUserRepository(db),
      lock: (userid) => step(`lock ${userid}`, true),
      setName: (_, name) => step(`name ${name}`, 1),
      setProperty: (_, name, value) => step(`${name} ${value}`, undefined),
      touch: () => step('touch', 1),
    }),
    profilesOf: () => ({ find: (_, now) => step(`find at ${now.getTime()}`, { user: ADA }) }),
    requireValid: (_, { jti }) => step(`require ${jti}`, ADA),
    changeEmail: (_, user, email, { claims }) =>
      step(`e-mail of ${user.username} to ${email} by ${claims.jti}`, undefined),
    clock: () => 7,
  })
  const updated = updateProfile(CALLER, change)
  if (refusedAt === undefined) expect(await updated).toEqual({ user: ADA })
  else await expect(updated).rejects.toThrow('refused')
  return steps
}

const LOCKED = `lock ${ADA.userid}`
const VALID = 'require one'
const FOUND = 'find at 7'
const MOVED = 'e-mail of ada to new@example.com by one'

it.each<{ change: ProfileChange; steps: string[] }>([
  { change: {}, steps: [LOCKED, VALID, FOUND] },
  { change: { name: 'Grace' }, steps: ['name Grace', VALID, FOUND] },
  { change: { email: 'new@example.com' }, steps: [LOCKED, VALID, MOVED, FOUND] },
  { change: { language: 'pt' }, steps: [LOCKED, VALID, 'language pt', 'touch', FOUND] },
  {
    change: { name: 'Grace', email: 'new@example.com', language: 'pt' },
    steps: ['name Grace', VALID, MOVED, 'language pt', 'touch', FOUND],
  },
])('locks the user first, and changes what is given and nothing else: $change', async ({ change, steps }) => {
  expect(await stepsOf(change)).toEqual(steps)
})

it.each<{ change: ProfileChange; refusedAt: string; steps: string[] }>([
  { change: { name: 'Grace' }, refusedAt: VALID, steps: ['name Grace', VALID, FOUND] },
  { change: { email: 'new@example.com' }, refusedAt: VALID, steps: [LOCKED, VALID] },
  { change: { name: 'Grace', language: 'pt' }, refusedAt: VALID, steps: ['name Grace', VALID] },
  { change: { language: 'pt' }, refusedAt: LOCKED, steps: [LOCKED, VALID] },
  { change: { name: 'Grace' }, refusedAt: 'name Grace', steps: ['name Grace', VALID, FOUND] },
])('fails its transaction when $refusedAt fails: $change', async ({ change, refusedAt, steps }) => {
  expect(await stepsOf(change, refusedAt)).toEqual(steps)
})
