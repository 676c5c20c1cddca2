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
  const outcome = await updateProfile(CALLER, change).catch(() => undefined)
  expect(outcome).toEqual(refusedAt === undefined ? { user: ADA } : undefined)
  return steps
}

const BEGUN = [`lock ${ADA.userid}`, 'require one']
const NAMED = 'name Grace'
const MOVED = 'e-mail of ada to new@example.com by one'

it.each<{ change: ProfileChange; steps: string[] }>([
  { change: {}, steps: [] },
  { change: { name: 'Grace' }, steps: [NAMED] },
  { change: { email: 'new@example.com' }, steps: [MOVED] },
  { change: { language: 'pt' }, steps: ['language pt', 'touch'] },
  {
    change: { name: 'Grace', email: 'new@example.com', language: 'pt' },
    steps: [NAMED, MOVED, 'language pt', 'touch'],
  },
])('changes what is given, of a user who is locked, and nothing else: $change', async ({ change, steps }) => {
  expect(await stepsOf(change)).toEqual([...BEGUN, ...steps, 'find at 7'])
})

it('changes nothing by a token that has ended', async () => {
  expect(await stepsOf({ name: 'Grace' }, 'require one')).toEqual(BEGUN)
})
