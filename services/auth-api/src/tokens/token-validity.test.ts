import { ada } from '@latchkey/shared/users/test/ada.ts'
import {
  EXEMPT_TOKEN_PROPERTY,
  exemptionOf,
  type User,
  VALID_FROM_PROPERTY,
} from '@latchkey/shared/users/user.ts'
import { describe, expect, it, vi } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import { sessionIdOf, type TokenStatus } from './revocation-repository.ts'
import { createTokenValidity, isCurrent } from './token-validity.ts'

const CLAIMS = someClaims()

/** The validity of a token whose user `findStatus` finds until `deleteUser`, at a time that `passSeconds` moves. */
function aValidity(cacheSeconds: number) {
  let now = 1_000_000
  let user: User | undefined = ada()
  let isSessionRevoked = false
  let replacedFrom: Date | undefined
  const NONE = { predecessorUntil: undefined, unusedRefreshHash: undefined }
  const recordUse = vi.fn(async () => undefined)
  const findStatus = vi.fn(
    async (): Promise<TokenStatus> => ({ user, replacedFrom, isSessionRevoked, ...NONE }),
  )
  return {
    validity: createTokenValidity({
      revocations: { findStatus },
      recordUse,
      cacheSeconds,
      sharedNow: () => now,
      elapsed: () => now,
    }),
    findStatus,
    recordUse,
    replaceFrom: (milliseconds: number) => {
      replacedFrom = new Date(milliseconds)
    },
    revokeSession: () => {
      isSessionRevoked = true
    },
    deleteUser: () => {
      user = undefined
    },
    passSeconds: (seconds: number) => {
      now += seconds * 1000
    },
  }
}

const NOT_REPLACED = { replacedFrom: undefined, predecessorUntil: undefined, unusedRefreshHash: undefined }
const REVOKED = { code: 'invalid_token', message: 'The token was revoked' }

describe('the validity of a token', () => {
  it('is read once per REVOCATION_CACHE, however many requests need it at the same time', async () => {
    const { validity, findStatus, deleteUser, passSeconds } = aValidity(5)
    await Promise.all(Array.from({ length: 20 }, () => validity.requireValid(CLAIMS)))
    expect(findStatus).toHaveBeenCalledTimes(1)
    deleteUser()
    passSeconds(5)
    expect(await validity.requireValid(CLAIMS)).toBe(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(1)
    expect(validity.checks()).toEqual({ memory: 20, database: 1 })

    passSeconds(0.001)
    await expect(validity.requireValid(CLAIMS)).rejects.toMatchObject(REVOKED)
    await expect(validity.requireValid(CLAIMS)).rejects.toMatchObject(REVOKED)
    expect(findStatus).toHaveBeenCalledTimes(2)
  })

  it('is not remembered where it was read before it was forgotten', async () => {
    const { validity, findStatus } = aValidity(5)
    const { promise: isRead, resolve: end } = Promise.withResolvers<void>()
    findStatus.mockImplementationOnce(async () => {
      await isRead
      return { user: undefined, ...NOT_REPLACED, isSessionRevoked: false }
    })
    const earlier = validity.requireValid(CLAIMS)
    validity.forget(CLAIMS)
    expect(await validity.requireValid(CLAIMS)).toBe(CLAIMS)
    end()
    await expect(earlier).rejects.toMatchObject(REVOKED)
    expect(await validity.requireValid(CLAIMS), 'as it was read last').toBe(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(2)
  })

  it('stays remembered where a read fails that began before it was forgotten', async () => {
    const { validity, findStatus } = aValidity(5)
    const { promise: isDown, reject: end } = Promise.withResolvers<never>()
    findStatus.mockImplementationOnce(() => isDown)
    const earlier = validity.requireValid(CLAIMS)
    validity.forget(CLAIMS)
    await validity.requireValid(CLAIMS)
    end(new Error('down'))
    await expect(earlier).rejects.toThrow('down')
    await validity.requireValid(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(2)
  })

  it('is forgotten with its session, and that of another session is not', async () => {
    const { validity, revokeSession } = aValidity(5)
    const [later, elsewhere] = [
      { ...CLAIMS, jti: 'two' },
      { ...CLAIMS, jti: 'three', sid: 'another' },
    ]
    for (const claims of [CLAIMS, later, elsewhere]) await validity.requireValid(claims)
    revokeSession()
    validity.forgetSession(sessionIdOf(CLAIMS))
    for (const claims of [CLAIMS, later])
      await expect(validity.requireValid(claims)).rejects.toMatchObject(REVOKED)
    expect(await validity.requireValid(elsewhere)).toBe(elsewhere)
  })

  it('is read again after a read that failed', async () => {
    const { validity, findStatus } = aValidity(5)
    findStatus.mockRejectedValueOnce(new Error('down'))
    await expect(validity.requireValid(CLAIMS)).rejects.toThrow('down')
    expect(await validity.requireValid(CLAIMS)).toBe(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(2)
  })

  it('is as old as the beginning of its read', async () => {
    const { validity, findStatus, passSeconds } = aValidity(5)
    const status = await findStatus()
    findStatus.mockImplementationOnce(async () => {
      passSeconds(4)
      return status
    })
    await validity.requireValid(CLAIMS)
    passSeconds(1)
    await validity.requireValid(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(2)
    passSeconds(0.001)
    await validity.requireValid(CLAIMS)
    expect(findStatus).toHaveBeenCalledTimes(3)
  })

  it('ends with the grace after the first use of its successor', async () => {
    const { validity, replaceFrom, passSeconds } = aValidity(5)
    replaceFrom(1_002_000)
    expect(await validity.requireValid(CLAIMS)).toBe(CLAIMS)
    passSeconds(1.999)
    expect(await validity.requireValid(CLAIMS), 'within the grace').toBe(CLAIMS)
    passSeconds(0.001)
    await expect(validity.requireValid(CLAIMS)).rejects.toMatchObject(REVOKED)
  })

  it('records the use of a token with each read, and never that of one that has ended', async () => {
    const { validity, findStatus, recordUse, revokeSession, passSeconds } = aValidity(5)
    await Promise.all(Array.from({ length: 20 }, () => validity.requireValid(CLAIMS)))
    expect(recordUse).toHaveBeenCalledExactlyOnceWith(CLAIMS, await findStatus())
    revokeSession()
    passSeconds(6)
    await expect(validity.requireValid(CLAIMS)).rejects.toMatchObject(REVOKED)
    expect(recordUse).toHaveBeenCalledTimes(1)
  })

  it('of one token of a pair says nothing about one from before a valid-from time', async () => {
    const { validity, findStatus } = aValidity(5)
    findStatus.mockResolvedValue({ user: validFrom(2_000), ...NOT_REPLACED, isSessionRevoked: false })
    const later = { ...CLAIMS, valid_from: 2_000 }
    for (const attempt of ['first', 'second']) {
      await expect(validity.requireValid(CLAIMS), attempt).rejects.toMatchObject(REVOKED)
      expect(await validity.requireValid(later), attempt).toBe(later)
    }
  })

  it('of one token says nothing about another token of the user', async () => {
    const { validity, revokeSession } = aValidity(5)
    await validity.requireValid(CLAIMS)
    revokeSession()
    await expect(validity.requireValid({ ...CLAIMS, jti: 'two' })).rejects.toMatchObject(REVOKED)
    expect(await validity.requireValid(CLAIMS)).toBe(CLAIMS)
  })

  it('is read for each request when REVOCATION_CACHE is 0', async () => {
    const { validity, findStatus, deleteUser } = aValidity(0)
    await validity.requireValid(CLAIMS)
    deleteUser()
    await expect(validity.requireValid(CLAIMS)).rejects.toMatchObject(REVOKED)
    expect(findStatus).toHaveBeenCalledTimes(2)
  })
})

const validFrom = (time: number, exempt?: string): User =>
  ada({
    properties: [
      { name: VALID_FROM_PROPERTY, value: String(time) },
      ...(exempt === undefined ? [] : [{ name: EXEMPT_TOKEN_PROPERTY, value: exempt }]),
    ],
  })

it.each<{ why: string; status: Partial<TokenStatus>; is?: true }>([
  { why: 'of a user who is gone', status: { user: undefined } },
  { why: 'of a deleted user', status: { user: ada({ deletedAt: new Date(0) }) } },
  { why: 'of an ended session', status: { isSessionRevoked: true } },
  { why: 'issued before the valid-from time', status: { user: validFrom(1_001) } },
  { why: 'issued at the valid-from time', status: { user: validFrom(1_000) }, is: true },
  {
    why: 'that the valid-from time exempts',
    status: { user: validFrom(2_000, exemptionOf(2_000, CLAIMS)) },
    is: true,
  },
  {
    why: 'of an answer to the same refresh that an earlier valid-from time has ended',
    status: { user: validFrom(2_000, exemptionOf(2_000, { ...CLAIMS, valid_from: 1_500 })) },
  },
])('a token $why is current: $is', ({ status, is = false }) => {
  const found = { user: ada(), ...NOT_REPLACED, isSessionRevoked: false, ...status }
  expect(isCurrent(found, CLAIMS)).toBe(is)
})
