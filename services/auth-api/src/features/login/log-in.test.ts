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
    {
      case: 'unknown user',
      user: undefined,
      matches: false,
      stored: undefined,
      reason: 'unknown_user',
    },
    {
      case: 'deleted user',
      user: { ...USER, deletedAt: new Date(0) },
      matches: true,
      stored: 'the stored hash',
      reason: 'deleted_user',
    },
    {
      case: 'wrong password',
      user: USER,
      matches: false,
      stored: 'the stored hash',
      reason: 'wrong_password',
    },
  ])('verifies one password: $case', async ({ user, matches, stored, reason }) => {
    const verify = vi.fn(async () => ({ matches }))
    const logIn = createLogIn({
      users: { findByLogin: async () => user },
      passwords: { verify },
      replaceHash: async () => undefined,
      reportUnusableHash: () => undefined,
      issueToken: () => {
        throw new Error('No token for a refused login')
      },
      field: 'email',
      clock: Date.now,
    })
    const client = { address: '192.0.2.1', standing: 'new' } as const
    const report = vi.fn()
    const given = { username: 'ada@example.com', password: 'guess' }
    await expect(logIn(given, client, { report })).rejects.toMatchObject({ code: 'invalid_credentials' })
    expect(report.mock.calls).toEqual([[{ name: 'login.refused', userid: user?.userid, reason }]])
    expect(verify.mock.calls).toEqual([['guess', stored, client]])
  })
})
