import type { User } from '@latchkey/shared/users/user.ts'
import { describe, expect, it, vi } from 'vitest'
import { createLogIn } from './log-in.ts'

const USER: User = {
  userid: '6f1c4d5e-0000-4000-8000-000000000000',
  name: 'Ada',
  email: 'ada@example.com',
  username: 'ada',
  role: 'user',
  passwordHash: 'the stored hash',
  createdAt: null,
  updatedAt: null,
  deletedAt: null,
  properties: [],
}

describe('a refused login', () => {
  // The hash is nearly all of the time that a login takes: to skip it would reveal which users exist.
  it.each([
    { case: 'unknown user', user: undefined, matches: false, stored: undefined },
    {
      case: 'deleted user',
      user: { ...USER, deletedAt: new Date(0) },
      matches: true,
      stored: 'the stored hash',
    },
    { case: 'wrong password', user: USER, matches: false, stored: 'the stored hash' },
  ])('verifies one password: $case', async ({ user, matches, stored }) => {
    const verify = vi.fn(async () => ({ matches }))
    const logIn = createLogIn({
      users: { findByLogin: async () => user },
      passwords: { verify },
      replaceHash: async () => undefined,
      reportUnusableHash: () => undefined,
      issueToken: () => Promise.reject(new Error('No token for a refused login')),
      field: 'email',
      clock: Date.now,
    })
    const client = { address: '192.0.2.1', standing: 'new' } as const
    await expect(logIn({ username: 'ada@example.com', password: 'guess' }, client)).rejects.toMatchObject({
      code: 'invalid_credentials',
    })
    expect(verify.mock.calls).toEqual([['guess', stored, client]])
  })
})
