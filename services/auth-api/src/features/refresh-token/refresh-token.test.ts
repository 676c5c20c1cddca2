import { AppError } from '@latchkey/shared/app-error.ts'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import {
  EXEMPT_TOKEN_PROPERTY,
  exemptionOf,
  type User,
  VALID_FROM_PROPERTY,
} from '@latchkey/shared/users/user.ts'
import { decodeJwt, decodeProtectedHeader } from 'jose'
import { describe, expect, it } from 'vitest'
import { someClaims } from '../../../test/support/claims.ts'
import { Claims } from '../../tokens/claims.ts'
import { createEndSession } from '../../tokens/end-session.ts'
import { createTokenIssuer } from '../../tokens/issue-token.ts'
import type { TokenStatus } from '../../tokens/revocation-repository.ts'
import { importSecret } from '../../tokens/signing-keys.ts'
import { createRefreshToken } from './refresh-token.ts'

const ADA = ada({ role: 'admin' })
/** Issued by a login 500 s before. */
const CLAIMS = someClaims({ auth_time: 500 })
const validFrom = (time: number, exempt?: string): User => ({
  ...ADA,
  properties: [
    { name: VALID_FROM_PROPERTY, value: String(time) },
    ...(exempt === undefined ? [] : [{ name: EXEMPT_TOKEN_PROPERTY, value: exempt }]),
  ],
})

interface Situation {
  claims?: Claims
  status?: Partial<TokenStatus>
  sessionLifetimeSeconds?: number
}

/** Refreshes a token; returns what was done, in its order, and how it was refused. */
async function refresh({ claims = CLAIMS, status, sessionLifetimeSeconds = 0 }: Situation) {
  const steps: string[] = []
  const refreshToken = createRefreshToken({
    revocations: {
      async endRefreshed({ jti }, until) {
        steps.push(`end ${jti} at ${until.getTime()}`)
        return { user: ADA, refreshedUntil: undefined, hasSessionEnded: false, ...status }
      },
    },
    endReused: async (caller) => void steps.push(`end the session of ${caller.claims.jti}`),
    validity: { forget: ({ jti }) => void steps.push(`forget ${jti}`) },
    async issueToken({ userid, role }, readAt, session) {
      steps.push(`issue at ${readAt} in ${session?.sid} since ${session?.authTime}`)
      return { token: 'new', data: { userid, name: 'Ada', role: String(role) } }
    },
    refreshWindowSeconds: 300,
    sessionLifetimeSeconds,
    clock: () => 4_500_000,
    databaseTime: () => 4_600_000,
  })
  const audit = {
    address: '192.0.2.1',
    agent: '',
    report: ({ name, userid }: { name: string; userid?: string | undefined }) =>
      void steps.push(`report ${name} of ${userid}`),
    write: async () => undefined,
  }
  const outcome = await refreshToken({ claims, audit }).then(
    ({ token, data }) => `${token} for ${data.role}`,
    (error) => (error instanceof AppError ? `${error.code}: ${error.message}` : Promise.reject(error)),
  )
  return { outcome, steps }
}

const ENDED = ['end one at 4610000', 'forget one']
const REPORTED = `report token.refreshed of ${ADA.userid}`
const REVOKED = 'invalid_token: The token was revoked'

describe('refreshing a token', () => {
  it('ends it after a grace, and issues one of its session for the user as they now are', async () => {
    expect(await refresh({})).toEqual({
      outcome: 'new for admin',
      steps: [...ENDED, REPORTED, 'issue at 4500 in session since 500'],
    })
  })

  it.each([
    { sessionLifetimeSeconds: 4_001, outcome: 'new for admin' },
    {
      sessionLifetimeSeconds: 4_000,
      outcome: 'invalid_token: The session is too old to be refreshed; log in again',
    },
    { sessionLifetimeSeconds: 0, outcome: 'new for admin' },
  ])(
    'ends $sessionLifetimeSeconds s after the login: $outcome',
    async ({ sessionLifetimeSeconds, outcome }) => {
      const found = await refresh({ sessionLifetimeSeconds })
      expect(found.outcome).toBe(outcome)
      expect(found.steps.length > 0).toBe(outcome.startsWith('new'))
    },
  )

  it.each<{ why: string; status: Partial<TokenStatus>; outcome?: string; steps?: string[] }>([
    { why: 'of a user who is gone', status: { user: undefined } },
    { why: 'of a deleted user', status: { user: { ...ADA, deletedAt: new Date(0) } } },
    { why: 'of an ended session', status: { hasSessionEnded: true } },
    { why: 'issued before the valid-from time', status: { user: validFrom(1_001) } },
    {
      why: 'after its grace',
      status: { refreshedUntil: new Date(4_600_000) },
      steps: ['end the session of one'],
    },
  ])('is refused for a token $why', async ({ status, steps = [] }) => {
    expect(await refresh({ status })).toEqual({ outcome: REVOKED, steps: [...ENDED, ...steps] })
  })

  it.each<{ why: string; status: Partial<TokenStatus> }>([
    { why: 'issued at the valid-from time', status: { user: validFrom(1_000) } },
    {
      why: 'that the valid-from time exempts',
      status: { user: validFrom(2_000, exemptionOf(2_000, 'one')) },
    },
    { why: 'in its grace', status: { refreshedUntil: new Date(4_600_001) } },
  ])('is possible for a token $why', async ({ status }) => {
    expect((await refresh({ status })).outcome).toBe('new for admin')
  })
})

describe('a new token', () => {
  const issuedTo = async (user: User, session?: Parameters<Awaited<ReturnType<typeof anIssuer>>>[2]) => {
    const { token, data } = await (await anIssuer())(user, 1_000, session)
    return { header: decodeProtectedHeader(token), claims: Claims.parse(decodeJwt(token)), data }
  }
  const anIssuer = async () =>
    createTokenIssuer({
      key: await importSecret(new Uint8Array(64)),
      issuer: 'latchkey',
      lifetimeSeconds: 3_600,
    })

  it('has the claims of the specification, and those of its session', async () => {
    const { header, claims, data } = await issuedTo(ADA)
    expect(header).toEqual({ alg: 'HS512', typ: 'JWT' })
    expect(claims).toEqual({
      iss: 'latchkey',
      sub: ADA.userid,
      iat: 1_000,
      nbf: 1_000,
      exp: 4_600,
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      sid: expect.stringMatching(/^[0-9a-f-]{36}$/),
      auth_time: 1_000,
      valid_from: 0,
      data: { userid: ADA.userid, name: 'Ada', role: 'admin' },
    })
    expect(claims.sid).not.toBe(claims.jti)
    expect(data).toEqual(claims.data)
    const { claims: next } = await issuedTo(ADA, { sid: 'session', authTime: 500 })
    expect(next).toMatchObject({ sid: 'session', auth_time: 500 })
  })

  it("has the user's valid-from time, an empty name and the role of a user by default", async () => {
    const { claims } = await issuedTo({ ...validFrom(1_002), name: null, role: null })
    expect(claims).toMatchObject({
      valid_from: 1_002,
      iat: 1_000,
      nbf: 1_000,
      exp: 4_600,
      data: { name: '', role: 'user' },
    })
  })
})

describe('the end of a session', () => {
  it.each([
    { what: 'of this token', exp: 4_600, lastExpiry: 4_600 },
    { what: 'of one that was issued at the same time', exp: 2_000, lastExpiry: 3_100 },
  ])('is kept until the last expiry, $what', async ({ exp, lastExpiry }) => {
    const ended: unknown[] = []
    const endSession = createEndSession({
      revocations: { endSession: async (...given) => void ended.push(given) },
      lifetimeSeconds: 1_000,
      clock: () => 2_100_999,
    })
    await endSession('the id', exp)
    expect(ended).toEqual([['the id', new Date(2_100_999), new Date(lastExpiry * 1000)]])
  })
})
