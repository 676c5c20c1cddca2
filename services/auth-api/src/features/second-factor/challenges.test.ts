import { createSecretKey, hkdfSync, randomBytes, randomUUID } from 'node:crypto'
import type { Queryable } from '@latchkey/shared/database/database.ts'
import { type User, VALID_FROM_PROPERTY } from '@latchkey/shared/users/user.ts'
import { decodeJwt, SignJWT } from 'jose'
import { describe, expect, it, vi } from 'vitest'
import { CHALLENGE_SECONDS } from '../../limits/factor-limiter.ts'
import type { GuardedUser } from '../account/account-guard.ts'
import { type ChallengePurpose, createChallenges } from './challenges.ts'

const NOW = 1_800_000_000_000
const SECRET = randomBytes(32)
const ADA = aUser()
const OF_ADA = { user: ADA, begunUnder: '' }

function aUser(validFrom = 0): User {
  return {
    userid: randomUUID(),
    name: 'Ada',
    email: 'ada@example.com',
    username: 'ada',
    passwordHash: '',
    role: null,
    createdAt: null,
    updatedAt: null,
    deletedAt: null,
    properties: [{ name: VALID_FROM_PROPERTY, value: String(validFrom) }],
  }
}

const challengesOf = ({
  secret = SECRET,
  previous,
  now = NOW,
}: {
  secret?: Uint8Array
  previous?: Uint8Array
  now?: number
} = {}) =>
  createChallenges({
    secret,
    previousSecret: previous,
    guard: { allow: async (_db, user) => user as GuardedUser },
    localNow: () => now,
  })

const isRefused = expect.objectContaining({
  code: 'challenge_refused',
  message: 'The challenge is not valid, has expired or was used',
})

describe('a challenge', () => {
  it('is for its user, its purpose and five minutes', async () => {
    const issued = await challengesOf().issue('latchkey-second-factor', OF_ADA)
    const read = (now: number, ...purposes: ChallengePurpose[]) =>
      challengesOf({ now }).read(issued, ...purposes)
    await expect(read(NOW, 'latchkey-second-factor')).resolves.toMatchObject({
      sub: ADA.userid,
      aud: 'latchkey-second-factor',
      exp: NOW / 1000 + CHALLENGE_SECONDS,
    })
    await expect(read(NOW, 'latchkey-passkey', 'latchkey-second-factor')).resolves.toBeDefined()
    await expect(read(NOW, 'latchkey-passkey')).rejects.toEqual(isRefused)
    await expect(read(NOW + 299_000, 'latchkey-second-factor')).resolves.toBeDefined()
    await expect(read(NOW + 300_000, 'latchkey-second-factor')).rejects.toEqual(isRefused)
  })

  it('is read with the secret before, and not signed with it', async () => {
    const previous = randomBytes(32)
    const old = await challengesOf({ secret: previous }).issue('latchkey-passkey-stepup', OF_ADA)
    const rotated = challengesOf({ previous })
    await expect(rotated.read(old, 'latchkey-passkey-stepup')).resolves.toMatchObject({ sub: ADA.userid })
    const fresh = await rotated.issue('latchkey-passkey-stepup', OF_ADA)
    await expect(challengesOf().read(fresh, 'latchkey-passkey-stepup')).resolves.toBeDefined()
    await expect(challengesOf().read(old, 'latchkey-passkey-stepup')).rejects.toEqual(isRefused)
  })

  it.each([
    { what: 'has another type', header: { typ: 'JWT' } },
    { what: 'lacks its id', claims: { jti: undefined } },
    { what: 'is for nobody by name', claims: { sub: 'ada' } },
    { what: 'is signed by the secret itself', key: SECRET },
    { what: 'is signed by another key of the secret', key: keyOf('latchkey factor') },
  ])('is refused when it $what', async ({ header = {}, claims = {}, key = keyOf('latchkey challenge') }) => {
    const sign = (changedHeader: object, changedClaims: object, by: Parameters<SignJWT['sign']>[0]) =>
      new SignJWT({
        aud: 'latchkey-passkey',
        sub: ADA.userid,
        jti: randomUUID(),
        exp: NOW / 1000 + 60,
        valid_from: 0,
        begun_under: '',
        ...changedClaims,
      })
        .setProtectedHeader({ alg: 'HS256', typ: 'latchkey-challenge+jwt', ...changedHeader })
        .sign(by)
    const read = async (text: string) => challengesOf().read(text, 'latchkey-passkey')
    await expect(read(await sign({}, {}, keyOf('latchkey challenge')))).resolves.toBeDefined()
    await expect(read(await sign(header, claims, key))).rejects.toEqual(isRefused)
  })

  it('is refused when its signature is cut off', async () => {
    const issued = await challengesOf().issue('latchkey-passkey', OF_ADA)
    await expect(challengesOf().read(issued.slice(0, -43), 'latchkey-passkey')).rejects.toEqual(isRefused)
  })
})

describe('the use of a challenge', () => {
  const storing = () => {
    const execute = vi.fn(async (_statement: unknown, _values?: readonly unknown[]) => 1)
    return { execute, db: { execute } as unknown as Queryable }
  }
  const use = async (
    issuedFor: User | undefined,
    usedBy: User,
    purpose: 'latchkey-passkey' | 'latchkey-second-factor',
  ) => {
    const { db, execute } = storing()
    const challenges = challengesOf()
    const challenge = await challenges.read(
      await challenges.issue(purpose, issuedFor && { user: issuedFor, begunUnder: '' }),
      purpose,
    )
    await challenges.use(db, usedBy, challenge)
    return execute.mock.calls[0]?.[1]
  }

  it('is stored until the challenge expires', async () => {
    const stored = await use(ADA, ADA, 'latchkey-second-factor')
    expect(stored).toEqual([expect.anything(), new Date(NOW), new Date(NOW + CHALLENGE_SECONDS * 1000)])
  })

  it('is refused to another user, and after a change that ends the sessions of its user', async () => {
    await expect(use(ADA, aUser(), 'latchkey-second-factor')).rejects.toEqual(isRefused)
    const changed = { ...aUser(NOW / 1000), userid: ADA.userid }
    await expect(use(ADA, changed, 'latchkey-second-factor')).rejects.toEqual(isRefused)
  })

  it('is any user’s where it was issued before anybody was known', async () => {
    const challenges = challengesOf()
    const issued = await challenges.issue('latchkey-passkey')
    expect(decodeJwt(issued).sub).toBe('00000000-0000-0000-0000-000000000000')
    await expect(use(undefined, ADA, 'latchkey-passkey')).resolves.toBeDefined()
  })
})

function keyOf(purpose: string) {
  return createSecretKey(Buffer.from(hkdfSync('sha256', SECRET, '', purpose, 32)))
}
