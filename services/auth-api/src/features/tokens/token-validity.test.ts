import type { User } from '@latchkey/shared/users/user.ts'
import { describe, expect, it, vi } from 'vitest'
import type { Claims } from './claims.ts'
import type { TokenStanding } from './revocation-repository.ts'
import { createTokenValidity, requireValid } from './token-validity.ts'

const USERID = '6f1c4d5e-0000-4000-8000-000000000000'
const CLAIMS: Claims = {
  iss: 'http://localhost',
  sub: USERID,
  iat: 1_000,
  nbf: 1_000,
  exp: 4_600,
  jti: 'one',
  data: { userid: USERID, name: 'Ada', role: 'user' },
}

/** The validity of a token whose user `findStanding` finds until `deleteUser`, at a time that `passSeconds` moves. */
function aValidity(cacheSeconds: number) {
  let now = 1_000_000
  let user: User | undefined = {
    userid: USERID,
    name: 'Ada',
    email: null,
    username: 'ada',
    passwordHash: '',
    role: 'user',
    createdAt: null,
    updatedAt: null,
    deletedAt: null,
    properties: [],
  }
  let hasSessionEnded = false
  let refreshedUntil: Date | undefined
  const endReused = vi.fn(async () => {
    hasSessionEnded = true
  })
  const findStanding = vi.fn(async (): Promise<TokenStanding> => ({ user, refreshedUntil, hasSessionEnded }))
  return {
    validity: createTokenValidity({
      standings: { findStanding },
      endReused,
      cacheSeconds,
      clock: () => now,
      monotonic: () => now,
    }),
    findStanding,
    endReused,
    refreshUntil: (milliseconds: number) => {
      refreshedUntil = new Date(milliseconds)
    },
    setRole: (role: string) => {
      if (user) user = { ...user, role }
    },
    endSession: () => {
      hasSessionEnded = true
    },
    deleteUser: () => {
      user = undefined
    },
    passSeconds: (seconds: number) => {
      now += seconds * 1000
    },
  }
}

const audit = { address: '192.0.2.1', report: () => undefined, write: async () => undefined }

describe('the validity of a token', () => {
  it('is read once per REVOCATION_CACHE, however many requests need it at the same time', async () => {
    const { validity, findStanding, deleteUser, passSeconds } = aValidity(5)
    expect(validity.recall(CLAIMS)).toBeUndefined()
    await Promise.all(Array.from({ length: 20 }, () => validity.check(CLAIMS, audit)))
    expect(validity.checks()).toEqual({ memory: 0, database: 20 })
    deleteUser()
    passSeconds(5)
    expect(validity.recall(CLAIMS)).toBe(CLAIMS)
    expect(validity.checks()).toEqual({ memory: 1, database: 20 })
    await validity.check(CLAIMS, audit)
    expect(findStanding).toHaveBeenCalledTimes(1)

    passSeconds(0.001)
    expect(validity.recall(CLAIMS)).toBeUndefined()
    await expect(validity.check(CLAIMS, audit)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(findStanding).toHaveBeenCalledTimes(2)
    expect(validity.recall(CLAIMS)).toBe('revoked')
  })

  it('gives the role that the user has now, within REVOCATION_CACHE', async () => {
    const { validity, setRole, passSeconds } = aValidity(5)
    const ofAdmin = { ...CLAIMS, data: { ...CLAIMS.data, role: 'admin' } }
    expect(await validity.check(ofAdmin, audit), 'a role that the token alone has').toEqual(CLAIMS)
    expect(validity.recall(ofAdmin)).toEqual(CLAIMS)
    setRole('admin')
    passSeconds(5.001)
    expect(await validity.check(CLAIMS, audit)).toEqual(ofAdmin)
    expect(validity.recall(CLAIMS)).toEqual(ofAdmin)
    setRole('')
    passSeconds(5.001)
    expect(await validity.check(CLAIMS, audit), 'no role is the role user').toBe(CLAIMS)
  })

  it('ends with its session, within REVOCATION_CACHE or once it is forgotten', async () => {
    const { validity, endSession, passSeconds } = aValidity(5)
    await validity.check(CLAIMS, audit)
    endSession()
    passSeconds(5)
    expect(validity.recall(CLAIMS), 'still remembered').toBe(CLAIMS)
    validity.forget(CLAIMS)
    expect(validity.recall(CLAIMS)).toBeUndefined()
    await expect(validity.check(CLAIMS, audit)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(validity.recall(CLAIMS)).toBe('revoked')
  })

  it('is not remembered where it was read before it was forgotten', async () => {
    const { validity, findStanding, endSession } = aValidity(5)
    const { promise: isRead, resolve: end } = Promise.withResolvers<void>()
    findStanding.mockImplementationOnce(async () => {
      await isRead
      return { user: undefined, refreshedUntil: undefined, hasSessionEnded: false }
    })
    const earlier = validity.check(CLAIMS, audit)
    validity.forget(CLAIMS)
    expect(await validity.check(CLAIMS, audit)).toBe(CLAIMS)
    end()
    await expect(earlier).rejects.toMatchObject({ code: 'invalid_token' })
    expect(validity.recall(CLAIMS), 'as it was read last').toBe(CLAIMS)
    endSession()
    validity.forget(CLAIMS)
    await expect(validity.check(CLAIMS, audit)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('is read again after a read that failed', async () => {
    const { validity, findStanding } = aValidity(5)
    findStanding.mockRejectedValueOnce(new Error('down'))
    await expect(validity.check(CLAIMS, audit)).rejects.toThrow('down')
    expect(await validity.check(CLAIMS, audit)).toBe(CLAIMS)
    expect(findStanding).toHaveBeenCalledTimes(2)
  })

  it('is as old as the beginning of its read', async () => {
    const { validity, findStanding, passSeconds } = aValidity(5)
    const standing = await findStanding()
    findStanding.mockImplementationOnce(async () => {
      passSeconds(4)
      return standing
    })
    await validity.check(CLAIMS, audit)
    passSeconds(1)
    expect(validity.recall(CLAIMS)).toBe(CLAIMS)
    passSeconds(0.001)
    expect(validity.recall(CLAIMS)).toBeUndefined()
  })

  it('ends with the grace after its refresh, and a use after that ends its session once', async () => {
    const { validity, refreshUntil, endReused, passSeconds } = aValidity(5)
    refreshUntil(1_002_000)
    expect(await validity.check(CLAIMS, audit)).toBe(CLAIMS)
    passSeconds(1.999)
    expect(validity.recall(CLAIMS), 'within the grace').toBe(CLAIMS)
    expect(endReused).not.toHaveBeenCalled()
    passSeconds(0.001)
    expect(validity.recall(CLAIMS)).toBeUndefined()
    for (const attempt of ['first', 'second'])
      await expect(validity.check(CLAIMS, audit), attempt).rejects.toMatchObject({ code: 'invalid_token' })
    expect(endReused).toHaveBeenCalledExactlyOnceWith({ claims: CLAIMS, audit })
    expect(validity.recall(CLAIMS)).toBe('revoked')
  })

  it('of one token says nothing about another token of the user', async () => {
    const { validity, endSession } = aValidity(5)
    await validity.check(CLAIMS, audit)
    endSession()
    await expect(validity.check({ ...CLAIMS, jti: 'two' }, audit)).rejects.toMatchObject({
      code: 'invalid_token',
    })
    expect(validity.recall(CLAIMS)).toBe(CLAIMS)
  })

  it('is read for each request when REVOCATION_CACHE is 0', async () => {
    const { validity, findStanding, deleteUser } = aValidity(0)
    await validity.check(CLAIMS, audit)
    deleteUser()
    expect(validity.recall(CLAIMS)).toBeUndefined()
    await expect(validity.check(CLAIMS, audit)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(findStanding).toHaveBeenCalledTimes(2)
  })
})

describe('the user of a token', () => {
  const USER: User = {
    userid: USERID,
    name: 'Ada',
    email: null,
    username: 'ada',
    passwordHash: '',
    role: 'user',
    createdAt: null,
    updatedAt: null,
    deletedAt: null,
    properties: [],
  }
  const VALID: TokenStanding = { user: USER, refreshedUntil: undefined, hasSessionEnded: false }
  const find = (standing: Partial<TokenStanding>) =>
    requireValid({ findStanding: async () => ({ ...VALID, ...standing }) }, CLAIMS, 2_000_000)

  it('is found while the token is valid, also in its grace', async () => {
    expect(await find({})).toBe(USER)
    expect(await find({ refreshedUntil: new Date(2_000_001) })).toBe(USER)
  })

  it.each<{ why: string; standing: Partial<TokenStanding> }>([
    { why: 'is gone', standing: { user: undefined } },
    { why: 'is deleted', standing: { user: { ...USER, deletedAt: new Date(0) } } },
    { why: 'has ended the session', standing: { hasSessionEnded: true } },
    { why: 'has refreshed it', standing: { refreshedUntil: new Date(2_000_000) } },
  ])('is not found when the user $why', async ({ standing }) => {
    await expect(find(standing)).rejects.toMatchObject({
      code: 'invalid_token',
      message: 'The token was revoked',
    })
  })
})
