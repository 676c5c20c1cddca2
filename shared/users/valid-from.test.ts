import { expect, it } from 'vitest'
import { type User, validFromOf } from './user.ts'
import { endTokens } from './valid-from.ts'

/** A user whose tokens were ended at each of these moments, in milliseconds. */
async function timesAfter(...moments: number[]): Promise<number[]> {
  return timesAfterToken(0, ...moments)
}

/** The same, by a token with this `iat`. */
async function timesAfterToken(issuedAt: number, ...moments: number[]): Promise<number[]> {
  let user: User = {
    userid: '6f1c4d5e-0000-4000-8000-000000000000',
    name: null,
    email: null,
    username: 'ada',
    passwordHash: '',
    role: null,
    createdAt: null,
    updatedAt: null,
    deletedAt: null,
    properties: [],
  }
  const users = {
    findById: async () => user,
    setProperty: async (_userid: string, name: string, value: string | null) => {
      user = { ...user, properties: [{ name, value }] }
    },
  }
  const times: number[] = []
  for (const now of moments) {
    await endTokens(users, user.userid, now, { issuedAt })
    times.push(validFromOf(user))
  }
  return times
}

it('is ahead of every token issued until now', async () => {
  expect(await timesAfter(100_000)).toEqual([102])
  expect(await timesAfter(100_999)).toEqual([102])
})

it('is another for the second time in a second: a token issued between has the first as its iat', async () => {
  expect(await timesAfter(100_000, 100_500)).toEqual([102, 103])
})

it('never goes back with the clock: tokens that have ended would be valid again', async () => {
  expect(await timesAfter(5_000_000, 100_000)).toEqual([5_002, 5_003])
})

it('ends the token by which its user asked, although the clock was set back since', async () => {
  expect(await timesAfterToken(3_600, 100_000)).toEqual([3_601])
  expect(await timesAfterToken(50, 100_000)).toEqual([102])
})
