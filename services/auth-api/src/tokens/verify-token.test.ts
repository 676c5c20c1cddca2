import { createHmac } from 'node:crypto'
import { SignJWT } from 'jose'
import { describe, expect, it } from 'vitest'
import { createTokenIssuer, importSigningKey } from './issue-token.ts'
import { createTokenVerifier } from './verify-token.ts'

const ISSUER = 'http://localhost'
const USERID = '6f1c4d5e-0000-4000-8000-000000000000'
const NOW = 1_000

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
  const verify = async (token: string) => {
    const keys = [await importSigningKey(Buffer.alloc(64, 1)), await importSigningKey(new Uint8Array(64))]
    return createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000 }).verify(token)
  }

  it('is verified if Latchkey issued it, with the current secret or the previous one', async () => {
    const key = await importSigningKey(new Uint8Array(64))
    const user = { userid: USERID, name: 'Ada', role: null, properties: [] }
    const issued = await createTokenIssuer({ key, issuer: ISSUER, lifetimeSeconds: 60 })(
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
    expect(await verify(issued.token)).toMatchObject({ sub: USERID, data: { name: 'Ada', role: 'user' } })
    expect(await verify(sign(CLAIMS))).toEqual(CLAIMS)
  })

  it('is remembered while its times are valid', async () => {
    let now = NOW * 1000
    const keys = [await importSigningKey(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => now })
    const verifyAt = (ms: number) => {
      now = ms
      return verifier.verify(sign(CLAIMS))
    }
    const first = await verifyAt(now)
    expect(await verifyAt((NOW + 60) * 1000 - 1), 'the same claims').toBe(first)
    expect(await verifyAt((NOW - 5) * 1000), 'within the leeway of nbf').toBe(first)
    await expect(verifyAt((NOW + 60) * 1000)).rejects.toMatchObject({ message: 'The token has expired' })
    await expect(verifyAt((NOW - 5) * 1000 - 1)).rejects.toMatchObject({ message: 'The token is not valid' })
  })

  it('is refused under the signature of a remembered token', async () => {
    const keys = [await importSigningKey(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000 })
    const token = sign(CLAIMS)
    expect(await verifier.verify(token)).toEqual(CLAIMS)
    const forged = `${encode(HEADER)}.${encode({ ...CLAIMS, data: { ...CLAIMS.data, role: 'admin' } })}`
    const withSignature = `${forged}.${token.slice(token.lastIndexOf('.') + 1)}`
    await expect(verifier.verify(withSignature)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('is forgotten when more have been seen since than are remembered', async () => {
    const keys = [await importSigningKey(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: ISSUER, clock: () => NOW * 1000, maxTokens: 2 })
    const tokens = ['one', 'two', 'three'].map((jti) => sign({ ...CLAIMS, jti }))
    const [first, , third] = await Promise.all(tokens.map((token) => verifier.verify(token)))
    expect(await verifier.verify(tokens[2] ?? '')).toBe(third)
    expect(await verifier.verify(tokens[0] ?? '')).not.toBe(first)
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
    ['claims after what is no base64url', signText(`${encode(HEADER)}.*${encode(CLAIMS)}`)],
    ['a key id', sign(CLAIMS, { ...HEADER, kid: '1' })],
    ['another issuer', sign({ ...CLAIMS, iss: 'http://elsewhere' })],
    ['another user in its data', sign({ ...CLAIMS, sub: '6f1c4d5e-0000-4000-8000-000000000001' })],
    ['no expiry', sign({ ...CLAIMS, exp: undefined })],
    ['an expiry of now', sign({ ...CLAIMS, exp: NOW })],
    ['a beginning in six seconds', sign({ ...CLAIMS, nbf: NOW + 6 })],
    ['a list as its claims', sign([CLAIMS])],
  ])('is not accepted with %s', async (_what, token) => {
    await expect(verify(token)).rejects.toMatchObject({ code: 'invalid_token' })
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
  })
})
