import type { HashClient } from '@latchkey/shared/passwords/fair-queue.ts'
import { tooManyWaiting } from '@latchkey/shared/passwords/password-hasher.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { describe, expect, it, vi } from 'vitest'
import { createLogIn } from './log-in.ts'

const USER = ada()

const CLIENT = { address: '192.0.2.1', trust: 'other' } as const
const GUESS = { username: 'ada@example.com', password: 'guess' }
const DEPENDENCIES = {
  replaceHash: async () => undefined,
  reportUnusableHash: () => undefined,
  noticeFailedLogin: () => undefined,
  issueToken: () => {
    throw new Error('No token for a refused login')
  },
  field: 'email',
  clock: Date.now,
} as const

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
      ...DEPENDENCIES,
      users: { findByLogin: async () => user },
      passwords: { verify, refuseWhenFull: () => undefined },
    })
    const report = vi.fn()
    await expect(logIn(GUESS, CLIENT, { report })).rejects.toMatchObject({ code: 'invalid_credentials' })
    expect(report.mock.calls).toEqual([[{ name: 'login.refused', userid: user?.userid, reason }]])
    expect(verify.mock.calls).toEqual([['guess', stored, CLIENT]])
  })

  it('costs no statement while too many logins wait', async () => {
    const findByLogin = vi.fn(async () => USER)
    const verify = vi.fn(async () => ({ matches: true }))
    const refuseWhenFull = (client: HashClient) => {
      expect(client).toEqual(CLIENT)
      throw tooManyWaiting()
    }
    const passwords = { verify, refuseWhenFull }
    const logIn = createLogIn({ ...DEPENDENCIES, users: { findByLogin }, passwords })
    const refused = logIn(GUESS, CLIENT, { report: () => undefined })
    await expect(refused).rejects.toMatchObject({ code: 'overloaded' })
    expect(findByLogin).not.toHaveBeenCalled()
    expect(verify).not.toHaveBeenCalled()
  })
})
