import { createHmac } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createTokenIssuer } from './issue-token.ts'
import { importSigningKey } from './signing-key.ts'
import { createTokenVerifier } from './verify-token.ts'

const ISSUER = 'http://localhost'
const USERID = '6f1c4d5e-0000-4000-8000-000000000000'
const NOW = 1_000

/** How many of `count` tokens with a name of `nameLength` are remembered in `maxBytes`. */
async function countRemembered(count: number, nameLength: number, maxBytes: number): Promise<number> {
  const key = await importSigningKey(new Uint8Array(64))
  const verifier = createTokenVerifier({ keys: [key], issuer: ISSUER, clock: () => NOW * 1000, maxBytes })
  const sign = (jti: string) =>
    new SignJWT({ jti, data: { userid: USERID, name: 'a'.repeat(nameLength), role: 'user' } })
      .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(USERID)
      .setIssuedAt(NOW)
      .setNotBefore(NOW)
      .setExpirationTime(4_600)
      .sign(key.webCrypto)
  for (let token = 0; token < count; token++) await verifier.verify(await sign(String(token)))
  return verifier.size()
}

it('remembers as many tokens as fit into its memory: fewer long ones', async () => {
  expect(await countRemembered(50, 10, 40_000)).toBeGreaterThan(20)
  expect(await countRemembered(50, 1_000, 40_000)).toBeLessThan(12)
})

describe('a token that was never seen', () => {
  const HEADER = { alg: 'HS512', typ: 'JWT' }
  const CLAIMS = {
    iss: ISSUER,
    sub: USERID,
    iat: NOW,
    nbf: NOW,
    exp: NOW + 60,
    jti: 'one',
    data: { userid: USERID, name: '', role: 'user' },
  }
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signText = (signed: string, hash = 'sha512') =>
    `${signed}.${createHmac(hash, new Uint8Array(64)).update(signed).digest('base64url')}`
  const sign = (claims: object, header: object = HEADER, hash?: string) =>
    signText(`${encode(header)}.${encode(claims)}`, hash)
  const recall = async (token: string) => {
    const keys = [await importSigningKey(Buffer.alloc(64, 1)), await importSigningKey(new Uint8Array(64))]
    return createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000 }).recall(token)
  }

  it('is verified at once if Latchkey issued it, with the current secret or the previous one', async () => {
    const key = await importSigningKey(new Uint8Array(64))
    const user = { userid: USERID, name: 'Ada', role: null, properties: [] }
    const issued = createTokenIssuer({ key, issuer: ISSUER, lifetimeSeconds: 60 })(
      {
        ...user,
        email: null,
        username: '',
        passwordHash: '',
        createdAt: null,
        updatedAt: null,
        deletedAt: null,
      },
      NOW,
    )
    expect(await recall(issued.token)).toMatchObject({ sub: USERID, data: { name: 'Ada', role: 'user' } })
    expect(await recall(sign(CLAIMS))).toEqual(CLAIMS)
  })

  it('is remembered while its times are valid', async () => {
    let now = NOW * 1000
    const keys = [await importSigningKey(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => now })
    const recallAt = (ms: number) => {
      now = ms
      return verifier.recall(sign(CLAIMS))
    }
    const first = recallAt(now)
    expect(recallAt((NOW + 60) * 1000 - 1), 'the same claims').toBe(first)
    expect(recallAt((NOW - 5) * 1000), 'within the leeway of nbf').toBe(first)
    for (const bad of [(NOW + 60) * 1000, (NOW - 5) * 1000 - 1]) {
      recallAt(NOW * 1000)
      expect(recallAt(bad)).toBeUndefined()
      expect(verifier.size()).toBe(0)
    }
  })

  it('is refused under the signature of a remembered token', async () => {
    const keys = [await importSigningKey(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000 })
    const token = sign(CLAIMS)
    expect(verifier.recall(token)).toEqual(CLAIMS)
    const forged = `${encode(HEADER)}.${encode({ ...CLAIMS, data: { ...CLAIMS.data, role: 'admin' } })}`
    const withSignature = `${forged}.${token.slice(token.lastIndexOf('.') + 1)}`
    expect(verifier.recall(withSignature)).toBeUndefined()
    await expect(verifier.verify(withSignature)).rejects.toMatchObject({ code: 'invalid_token' })
    expect(verifier.recall(token), 'the remembered token').toEqual(CLAIMS)
  })

  it('is remembered up to 2,048 characters', async () => {
    const keys = [await importSigningKey(new Uint8Array(64))]
    const sizeAfter = (token: string) => {
      const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000 })
      expect(verifier.recall(token)).toBeDefined()
      return verifier.size()
    }
    const named = (length: number) => sign({ ...CLAIMS, data: { ...CLAIMS.data, name: 'a'.repeat(length) } })
    const longest = 1_246
    expect([named(longest).length, sizeAfter(named(longest))]).toEqual([2_048, 1])
    expect(sizeAfter(named(longest + 1))).toBe(0)
  })

  it.each([
    ['another signature', `${sign(CLAIMS).slice(0, -4)}AAAA`],
    ['a padded signature', `${sign(CLAIMS)}=`],
    ['no signature', sign(CLAIMS).slice(0, sign(CLAIMS).lastIndexOf('.') + 1)],
    ['a fourth part', `${sign(CLAIMS)}.${sign(CLAIMS).split('.')[2]}`],
    ['changed claims', sign(CLAIMS).replace(/\.[^.]+\./, `.${encode({ ...CLAIMS, sub: 'x' })}.`)],
    ['another hash', sign(CLAIMS, HEADER, 'sha256')],
    ['no algorithm', sign(CLAIMS, { alg: 'none', typ: 'JWT' })],
    ['another algorithm', sign(CLAIMS, { alg: 'HS256', typ: 'JWT' })],
    ['padded claims', signText(`${encode(HEADER)}.${encode(CLAIMS)}=`)],
    ['claims after what is no base64url', signText(`${encode(HEADER)}.*${encode(CLAIMS)}`)],
    ['a key id', sign(CLAIMS, { ...HEADER, kid: '1' })],
    ['another issuer', sign({ ...CLAIMS, iss: 'http://elsewhere' })],
    ['another user in its data', sign({ ...CLAIMS, sub: '6f1c4d5e-0000-4000-8000-000000000001' })],
    ['no expiry', sign({ ...CLAIMS, exp: undefined })],
    ['an expiry of now', sign({ ...CLAIMS, exp: NOW })],
    ['a beginning in six seconds', sign({ ...CLAIMS, nbf: NOW + 6 })],
    ['a list as its claims', sign([CLAIMS])],
  ])('is not accepted with %s', async (_what, token) => {
    expect(await recall(token)).toBeUndefined()
  })
})

describe('a token that is refused', () => {
  /** Valid from 1,000 s to 4,600 s. */
  const sign = (secret: Uint8Array, { sub = USERID, nbf = NOW, header = {} } = {}) =>
    new SignJWT({ jti: 'one', data: { userid: USERID, name: 'Ada', role: 'user' } })
      .setProtectedHeader({ alg: 'HS512', typ: 'JWT', ...header })
      .setIssuer(ISSUER)
      .setSubject(sub)
      .setIssuedAt(NOW)
      .setNotBefore(nbf)
      .setExpirationTime(4_600)
      .sign(secret)
  const [KEY, UNKNOWN] = [new Uint8Array(64), new Uint8Array(64).fill(2)]

  it.each<{ why: string; token: Promise<string>; at?: number; says: string }>([
    { why: 'has an unknown key', token: sign(UNKNOWN), says: 'The token is not valid' },
    {
      why: 'is of another user',
      token: sign(KEY, { sub: crypto.randomUUID() }),
      says: 'The token is not valid',
    },
    {
      why: 'has a further header',
      token: sign(KEY, { header: { kid: 'x' } }),
      says: 'The token is not valid',
    },
    { why: 'begins later', token: sign(KEY, { nbf: NOW + 6 }), says: 'The token is not valid' },
    { why: 'expires now', token: sign(KEY), at: 4_600, says: 'The token has expired' },
    { why: 'expired long ago', token: sign(KEY), at: 9_000, says: 'The token has expired' },
  ])('says no more than an expiry: $why', async ({ token, at = NOW, says }) => {
    const keys = [await importSigningKey(KEY)]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => at * 1000 })
    await expect(verifier.verify(await token)).rejects.toMatchObject({ code: 'invalid_token', message: says })
    expect(verifier.size(), 'remembered').toBe(0)
  })
})
