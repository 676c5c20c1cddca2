import {
  constants,
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto'
import { generatePrivateKey, KEY_KINDS, type KeyKind } from '@latchkey/shared/secrets/private-key.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { calculateJwkThumbprint, decodeProtectedHeader, exportJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aToken, bearer, claimsFor, signToken, startApp, type TestApp } from './support/start-app.ts'

const ALGORITHMS = { ed25519: 'EdDSA', es256: 'ES256', rs256: 'RS256' } as const

/** A key, as its owner has it and as everybody sees it. */
async function aKey(kind: KeyKind) {
  const pem = generatePrivateKey(kind)
  const key = createPrivateKey(pem)
  const jwk = await exportJWK(createPublicKey(key))
  return { pem, key, jwk, kid: await calculateJwkThumbprint(jwk), alg: ALGORITHMS[kind] }
}
type Key = Awaited<ReturnType<typeof aKey>>

let app: TestApp
let user: TestUser
/** The keys that have signed, sign and will sign. */
let keys: Record<'current' | 'next' | 'previous', Key>
beforeAll(async () => {
  keys = { current: await aKey('ed25519'), next: await aKey('es256'), previous: await aKey('rs256') }
  app = await startApp({
    settings: {
      JWT_ALGORITHM: 'EdDSA',
      JWT_PRIVATE_KEY: keys.current.pem,
      JWT_PRIVATE_KEY_NEXT: keys.next.pem.replaceAll('\n', '\\n'),
      JWT_PRIVATE_KEY_PREVIOUS: keys.previous.pem,
    },
  })
  user = await aUser(app)
})
afterAll(() => app[Symbol.asyncDispose]())

const ping = (token: string, on = app) =>
  on.server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })
const now = () => Math.floor(Date.now() / 1000)
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
const claims = (given: object = {}) => ({ ...claimsFor(app, user), ...given })

/** Signs by the algorithm of the key, whatever the header says. */
function signBy(
  { key, alg }: Pick<Key, 'key' | 'alg'>,
  input: string,
  dsaEncoding: 'ieee-p1363' | 'der',
): Buffer {
  return sign(alg === 'EdDSA' ? null : 'sha256', Buffer.from(input), { key, dsaEncoding })
}

/** A token that is the key's but for what is given. */
function tokenOf(
  key: Key,
  given: { header?: object; claims?: object; signer?: Pick<Key, 'key' | 'alg'> } = {},
) {
  const input = `${encode({ alg: key.alg, typ: 'JWT', kid: key.kid, ...given.header })}.${encode(claims(given.claims))}`
  return `${input}.${signBy(given.signer ?? key, input, 'ieee-p1363').toString('base64url')}`
}

function withMac(header: object, secret: string | Uint8Array, hash = 'sha512') {
  const input = `${encode({ typ: 'JWT', ...header })}.${encode(claims())}`
  return `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`
}

function withSignature(header: object, signature: Uint8Array | string) {
  const text = typeof signature === 'string' ? signature : Buffer.from(signature).toString('base64url')
  return `${encode({ typ: 'JWT', ...header })}.${encode(claims())}.${text}`
}

/** The order of Ed25519's group (RFC 8032 §5.1). */
const ED25519_ORDER = 2n ** 252n + 27742317777372353535851937790883648493n

/** The same signature with S + L, which a careless verifier accepts. */
function malleated(token: string): string {
  const [header, payload, signature = ''] = token.split('.')
  const bytes = Buffer.from(signature, 'base64url')
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32).toReversed()).toString('hex')}`) + ED25519_ORDER
  const changed = Buffer.from(s.toString(16).padStart(64, '0'), 'hex').reverse()
  return [header, payload, Buffer.concat([bytes.subarray(0, 32), changed]).toString('base64url')].join('.')
}

const stranger = (key: Key): Key => {
  const kind = KEY_KINDS.find((each) => ALGORITHMS[each] === key.alg) ?? 'ed25519'
  return { ...key, key: createPrivateKey(generatePrivateKey(kind)) }
}

/** Attacks on each of the keys. */
const ON_EACH: Record<string, (key: Key) => string | Promise<string>> = {
  'alg none without a signature': ({ kid }) => withSignature({ alg: 'none', kid }, ''),
  'alg none with the right signature': (key) => tokenOf(key, { header: { alg: 'none' } }),
  'no alg': (key) => tokenOf(key, { header: { alg: undefined } }),
  'alg as a list': (key) => tokenOf(key, { header: { alg: [key.alg] } }),
  'its alg in another case': (key) => tokenOf(key, { header: { alg: key.alg.toLowerCase() } }),
  'no kid': (key) => tokenOf(key, { header: { kid: undefined } }),
  'an unknown kid': (key) => tokenOf(key, { header: { kid: randomBytes(32).toString('base64url') } }),
  'a kid that is a number': (key) => tokenOf(key, { header: { kid: 0 } }),
  'a kid that is a list': (key) => tokenOf(key, { header: { kid: [key.kid] } }),
  'a kid that is a path': (key) => tokenOf(key, { header: { kid: `../${key.kid}` } }),
  'a kid of the prototype': (key) => tokenOf(key, { header: { kid: '__proto__' } }),
  'the signature of another key of the same kind': (key) => tokenOf(key, { signer: stranger(key) }),
  'its own key in jwk': async (key) => {
    const own = stranger(key)
    return tokenOf(own, { header: { jwk: await exportJWK(createPublicKey(own.key)) } })
  },
  'its own key in jwk, and its kid': async (key) => {
    const own = stranger(key)
    const jwk = await exportJWK(createPublicKey(own.key))
    return tokenOf(own, { header: { jwk, kid: await calculateJwkThumbprint(jwk) } })
  },
  'a jwk beside the right signature': (key) => tokenOf(key, { header: { jwk: key.jwk } }),
  'a jku beside the right signature': (key) =>
    tokenOf(key, { header: { jku: 'http://127.0.0.1/jwks.json' } }),
  'an x5u beside the right signature': (key) => tokenOf(key, { header: { x5u: 'http://127.0.0.1/a.pem' } }),
  'an x5c beside the right signature': (key) => tokenOf(key, { header: { x5c: ['AA=='] } }),
  'a crit that names nothing': (key) => tokenOf(key, { header: { crit: [] } }),
  'a crit that is not understood': (key) => tokenOf(key, { header: { crit: ['x'], x: 1 } }),
  'crit b64': (key) => tokenOf(key, { header: { crit: ['b64'], b64: false } }),
  'another typ': (key) => tokenOf(key, { header: { typ: 'at+jwt' } }),
  'an empty signature': ({ alg, kid }) => withSignature({ alg, kid }, ''),
  'a signature of zeros': ({ alg, kid }) => withSignature({ alg, kid }, new Uint8Array(64)),
  'a padded signature': (key) => `${tokenOf(key)}==`,
  'a cut signature': (key) => tokenOf(key).slice(0, -4),
  'a payload with another role under the old signature': (key) => {
    const [header, , signature] = tokenOf(key).split('.')
    const data = { userid: user.userid, name: 'Ada', role: 'admin' }
    return `${header}.${encode(claims({ data }))}.${signature}`
  },
  'another issuer': (key) => tokenOf(key, { claims: { iss: 'https://evil.example.com' } }),
  expired: (key) => tokenOf(key, { claims: { exp: now() } }),
  'the kid and alg of another key': (key) => {
    const other = Object.values(keys).find((each) => each !== key) ?? key
    return tokenOf(key, { header: { kid: other.kid, alg: other.alg } })
  },
  'the kid of another key': (key) => {
    const other = Object.values(keys).find((each) => each !== key) ?? key
    return tokenOf(key, { header: { kid: other.kid } })
  },
  'the alg of another key': (key) => {
    const other = Object.values(keys).find((each) => each !== key) ?? key
    return tokenOf(key, { header: { alg: other.alg } })
  },
  'JWT_SECRET under its kid': ({ kid }) => withMac({ alg: 'HS512', kid }, app.config.tokens.secret),
  'JWT_SECRET under its kid and alg': ({ kid, alg }) => withMac({ alg, kid }, app.config.tokens.secret),
}

/** The public part of a key, as the secret of an HMAC (CVE-2015-9235). */
const PUBLIC_TEXTS: Record<string, (key: Key) => string | Uint8Array> = {
  PEM: ({ key }) => createPublicKey(key).export({ type: 'spki', format: 'pem' }),
  'PEM without its last line end': ({ key }) =>
    createPublicKey(key).export({ type: 'spki', format: 'pem' }).toString().trim(),
  DER: ({ key }) => createPublicKey(key).export({ type: 'spki', format: 'der' }),
  JWK: ({ jwk }) => JSON.stringify(jwk),
  'the first member of its JWK': ({ jwk }) => Buffer.from(jwk.x ?? jwk.n ?? '', 'base64url'),
  kid: ({ kid }) => kid,
  nothing: () => '',
}

/** Attacks that only one kind of key allows. */
const ON_ONE: Record<string, () => string> = {
  'EdDSA under the name Ed25519': () => tokenOf(keys.current, { header: { alg: 'Ed25519' } }),
  'EdDSA with S + L': () => malleated(tokenOf(keys.current)),
  'ES256 in DER': () => {
    const input = `${encode({ alg: 'ES256', typ: 'JWT', kid: keys.next.kid })}.${encode(claims())}`
    return `${input}.${signBy(keys.next, input, 'der').toString('base64url')}`
  },
  'ES256 by a key of another curve': () => {
    const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-384' })
    return tokenOf(keys.next, { signer: { key: privateKey, alg: 'ES256' } })
  },
  ...Object.fromEntries(
    (['RS384', 'RS512', 'PS256', 'PS512'] as const).map((alg) => [
      `RSA with ${alg}`,
      () => {
        const input = `${encode({ alg, typ: 'JWT', kid: keys.previous.kid })}.${encode(claims())}`
        return `${input}.${signRsa(keys.previous.key, alg, input).toString('base64url')}`
      },
    ]),
  ),
}

function signRsa(key: KeyObject, alg: string, input: string): Buffer {
  const padding = alg.startsWith('PS') ? constants.RSA_PKCS1_PSS_PADDING : constants.RSA_PKCS1_PADDING
  return sign(`sha${alg.slice(2)}`, Buffer.from(input), {
    key,
    padding,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  })
}

async function expectRefusal(token: string): Promise<void> {
  for (const attempt of ['first', 'second']) {
    const response = await ping(token)
    expect(response.statusCode, attempt).toBe(401)
    expect(response.json().type).toBe('urn:latchkey:problem:invalid-token')
  }
}

describe.each(['current', 'next', 'previous'] as const)('a token of the %s key', (which) => {
  it('is accepted, and is what the forged ones below are derived from', async () => {
    expect((await ping(tokenOf(keys[which]))).statusCode).toBe(200)
  })

  it.each(Object.entries(ON_EACH))('is refused with %s, on every call', async (_, make) => {
    await expectRefusal(await make(keys[which]))
  })

  it.each(Object.entries(PUBLIC_TEXTS))('is not one with an HMAC by %s', async (_, secretOf) => {
    const { kid, alg } = keys[which]
    const secret = secretOf(keys[which])
    for (const header of [{ alg: 'HS512' }, { alg: 'HS512', kid }, { alg, kid }])
      await expectRefusal(withMac(header, secret))
    await expectRefusal(withMac({ alg: 'HS256', kid }, secret, 'sha256'))
  })
})

it.each(Object.entries(ON_ONE))('refuses %s', async (_, make) => {
  await expectRefusal(make())
})

describe.each(KEY_KINDS)('a service that signs with %s', (kind) => {
  it('issues tokens of its key, publishes only what is public, and says so in its document', async () => {
    const key = await aKey(kind)
    await using own = await startApp({
      database: app.database,
      settings: { JWT_ALGORITHM: key.alg, JWT_PRIVATE_KEY: key.pem, JWT_SECRET: '' },
    })
    const token = await aToken(own, user)
    expect(decodeProtectedHeader(token)).toEqual({ alg: key.alg, typ: 'JWT', kid: key.kid })
    expect((await ping(token, own)).statusCode).toBe(200)
    const { keys: published } = (await own.server.inject('/.well-known/jwks.json')).json()
    expect(published).toEqual([{ ...key.jwk, kid: key.kid, alg: key.alg, use: 'sig' }])
    const { components } = (await own.server.inject('/openapi.json')).json()
    expect(components.securitySchemes.bearer.description).toContain(`signed by ${key.alg}`)
    // Without JWT_SECRET none of its tokens is accepted.
    const ofSecret = await signToken(app, user)
    expect((await ping(ofSecret)).statusCode, 'while JWT_SECRET is set').toBe(200)
    expect((await ping(ofSecret, own)).statusCode).toBe(401)
    expect(own.logLines.join()).not.toContain(String(key.key.export({ format: 'jwk' }).d))
  })
})

describe('the published keys', () => {
  it('are the current, the next and the previous one, and may be kept for five minutes', async () => {
    const response = await app.server.inject('/.well-known/jwks.json')
    expect(response.json().keys.map(({ kid }: { kid: string }) => kid)).toEqual(
      [keys.current, keys.next, keys.previous].map(({ kid }) => kid),
    )
    expect(response.headers).toMatchObject({
      'cache-control': 'public, max-age=300',
      'content-type': expect.stringMatching(/^application\/json/),
    })
    const known = ['kty', 'use', 'alg', 'kid', 'crv', 'x', 'y', 'n', 'e']
    for (const key of response.json().keys) expect(known).toEqual(expect.arrayContaining(Object.keys(key)))
  })

  it('are not found where only a secret signs', async () => {
    await using own = await startApp({ database: app.database })
    const response = await own.server.inject('/.well-known/jwks.json')
    expect([response.statusCode, response.headers['cache-control']]).toEqual([404, 'no-store'])
    const { paths, components } = (await own.server.inject('/openapi.json')).json()
    expect(paths).not.toHaveProperty(['/.well-known/jwks.json'])
    expect(components.securitySchemes.bearer.description).toContain('signed by HS512')
  })
})
