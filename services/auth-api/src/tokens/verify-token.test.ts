import { createHmac } from 'node:crypto'
import { ada } from '@latchkey/shared/users/test/ada.ts'
import { describe, expect, it } from 'vitest'
import { someClaims } from '../../test/support/claims.ts'
import { createTokenSigner } from './issue-token.ts'
import { importSecret } from './signing-keys.ts'
import { createTokenVerifier } from './verify-token.ts'

const NOW = 1_000
const CLAIMS = someClaims()
const HEADER = { alg: 'HS512', typ: 'JWT' }

describe('a token that was never seen', () => {
  const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const signText = (signed: string, hash = 'sha512') =>
    `${signed}.${createHmac(hash, new Uint8Array(64)).update(signed).digest('base64url')}`
  const sign = (claims: object, header: object = HEADER, hash?: string) =>
    signText(`${encode(header)}.${encode(claims)}`, hash)
  const verify = async (token: string) => {
    const keys = [await importSecret(Buffer.alloc(64, 1)), await importSecret(new Uint8Array(64))]
    return createTokenVerifier({ keys, issuer: CLAIMS.iss, localNow: () => NOW * 1000 }).verify(token)
  }

  it('is verified if Latchkey issued it, with the current secret or the previous one', async () => {
    const key = await importSecret(new Uint8Array(64))
    const issue = createTokenSigner({
      key,
      issuer: CLAIMS.iss,
      lifetimeSeconds: 60,
    })
    const { issued } = await issue(ada(), NOW)
    expect(await verify(issued.token)).toMatchObject({ sub: CLAIMS.sub, data: { name: 'Ada', role: 'user' } })
    expect(await verify(sign(CLAIMS))).toEqual(CLAIMS)
  })

  it('is remembered while its times are valid', async () => {
    let now = NOW * 1000
    const keys = [await importSecret(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: CLAIMS.iss, localNow: () => now })
    const verifyAt = (ms: number) => {
      now = ms
      return verifier.verify(sign(CLAIMS))
    }
    const first = await verifyAt(now)
    expect(await verifyAt(4_600 * 1000 - 1), 'the same claims').toBe(first)
    expect(await verifyAt((NOW - 5) * 1000), 'within the leeway of nbf').toBe(first)
    await expect(verifyAt(4_600 * 1000)).rejects.toMatchObject({
      code: 'invalid_token',
      message: 'The token has expired',
    })
    await expect(verifyAt((NOW - 5) * 1000 - 1)).rejects.toMatchObject({
      message: 'The token is not valid',
    })
  })

  it('is refused under the signature of a remembered token', async () => {
    const keys = [await importSecret(new Uint8Array(64))]
    const verifier = createTokenVerifier({ keys, issuer: CLAIMS.iss, localNow: () => NOW * 1000 })
    const token = sign(CLAIMS)
    expect(await verifier.verify(token)).toEqual(CLAIMS)
    const forged = `${encode(HEADER)}.${encode({ ...CLAIMS, data: { ...CLAIMS.data, role: 'admin' } })}`
    const withSignature = `${forged}.${token.slice(token.lastIndexOf('.') + 1)}`
    await expect(verifier.verify(withSignature)).rejects.toMatchObject({ code: 'invalid_token' })
  })

  it('is reported with its seconds where it is from the future, valid or not', async () => {
    const reported: number[] = []
    const keys = [await importSecret(new Uint8Array(64))]
    const verifier = createTokenVerifier({
      keys,
      issuer: CLAIMS.iss,
      localNow: () => NOW * 1000,
      onFuture: (seconds) => void reported.push(seconds),
    })
    const verified = (claims: object) =>
      verifier.verify(sign({ ...CLAIMS, ...claims })).then(
        () => 'valid',
        ({ message }) => message,
      )
    expect(await verified({ nbf: NOW + 4 })).toBe('valid')
    expect(await verified({ nbf: NOW + 60 })).toBe('The token is not valid')
    expect(reported).toEqual([4, 60])
    for (const given of [{}, { iss: 'another' }, { exp: 1 }, { nbf: 'text' }]) await verified(given)
    expect(reported).toEqual([4, 60])
  })

  it('is forgotten when more have been seen since than are remembered', async () => {
    const keys = [await importSecret(new Uint8Array(64))]
    const verifier = createTokenVerifier({
      keys,
      issuer: CLAIMS.iss,
      localNow: () => NOW * 1000,
      maxTokens: 2,
    })
    const tokens = ['one', 'two', 'three'].map((jti) => sign({ ...CLAIMS, jti }))
    const seen: unknown[] = []
    for (const token of tokens) seen.push(await verifier.verify(token))
    expect(await verifier.verify(tokens[2] ?? '')).toBe(seen[2])
    expect(await verifier.verify(tokens[0] ?? '')).not.toBe(seen[0])
  })
})
