import { expect, it } from 'vitest'
import { type User, validFromOf } from './user.ts'
import { endTokens } from './valid-from.ts'

/** A user whose tokens were ended at each of these moments, in milliseconds. */
async function marksAfter(...moments: number[]): Promise<number[]> {
  return marksAfterToken(0, ...moments)
}

/** The same, by a token with this `iat`. */
async function marksAfterToken(issuedAt: number, ...moments: number[]): Promise<number[]> {
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
  const marks: number[] = []
  for (const now of moments) {
    await endTokens(users, user.userid, now, { issuedAt })
    marks.push(validFromOf(user))
  }
  return marks
}

it('is ahead of every token issued until now', async () => {
  expect(await marksAfter(100_000)).toEqual([102])
  expect(await marksAfter(100_999)).toEqual([102])
})

it('is another for the second time in a second: a token issued between has the first as its iat', async () => {
  expect(await marksAfter(100_000, 100_500)).toEqual([102, 103])
})

it('never goes back with the clock: tokens that have ended would be valid again', async () => {
  expect(await marksAfter(5_000_000, 100_000)).toEqual([5_002, 5_003])
})

it('ends the token by which its user asked, although the clock was set back since', async () => {
  expect(await marksAfterToken(3_600, 100_000)).toEqual([3_601])
  expect(await marksAfterToken(50, 100_000)).toEqual([102])
})
