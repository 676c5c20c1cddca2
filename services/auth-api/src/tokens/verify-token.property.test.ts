import { createHmac, randomBytes, randomUUID, timingSafeEqual } from 'node:crypto'
import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { beforeAll, expect, it } from 'vitest'
import { importSecret } from './signing-keys.ts'
import { createTokenVerifier, type TokenVerifier } from './verify-token.ts'

const SECRET = randomBytes(64)
const PREVIOUS = randomBytes(64)
const ISSUER = 'https://login.example.com'
const NOW_SECONDS = 1_800_000_000
const USERID = randomUUID()
const HEADER = { alg: 'HS512', typ: 'JWT' }
const CLAIMS = {
  iss: ISSUER,
  sub: USERID,
  iat: NOW_SECONDS,
  nbf: NOW_SECONDS,
  exp: NOW_SECONDS + 3600,
  jti: randomUUID(),
  sid: randomUUID(),
  auth_time: NOW_SECONDS,
  valid_from: NOW_SECONDS,
  data: { userid: USERID, name: 'Ada', role: 'user' },
}

let verifier: TokenVerifier
beforeAll(async () => {
  const keys = [await importSecret(SECRET), await importSecret(PREVIOUS)]
  verifier = createTokenVerifier({ keys, issuer: ISSUER, localNow: () => NOW_SECONDS * 1000 })
})

async function accepts(token: string): Promise<boolean> {
  const isAccepted = await isVerified(token)
  expect(await isVerified(token), 'the second time').toBe(isAccepted)
  return isAccepted
}

const isVerified = (token: string): Promise<boolean> =>
  verifier.verify(token).then(
    () => true,
    (error) => {
      // No other error: it would be answered with 500.
      expect(error).toMatchObject({ code: 'invalid_token' })
      return false
    },
  )

const sign = (input: string, secret: Buffer, hash = 'sha512'): string =>
  `${input}.${createHmac(hash, secret).update(input).digest('base64url')}`

const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')

/** RFC 7515 and RFC 7519 by hand, without a library: whether Latchkey's rules accept the token. */
function shouldAccept(token: string): boolean {
  const parts = token.split('.')
  const [header = '', payload = '', signature = ''] = parts
  if (parts.length !== 3 || !isSignedBy([SECRET, PREVIOUS], `${header}.${payload}`, signature)) return false
  const [{ alg, typ, ...others }, { iss, sub, iat, nbf, exp, jti, sid, auth_time, valid_from, data }] = [
    decode(header),
    decode(payload),
  ]
  return (
    [alg === 'HS512', typeof typ === 'string' && /^(application\/)?jwt$/i.test(typ)].every(Boolean) &&
    Object.keys(others).length === 0 &&
    iss === ISSUER &&
    [jti, sid].every((id) => typeof id === 'string') &&
    [iat, nbf, exp, auth_time, valid_from].every((time) => typeof time === 'number') &&
    Number(nbf) <= NOW_SECONDS + 5 &&
    Number(exp) > NOW_SECONDS &&
    isGuid(sub) &&
    isUser(data, sub)
  )
}

const isSignedBy = (secrets: readonly Buffer[], input: string, signature: string): boolean =>
  secrets.some((secret) => {
    const wanted = Buffer.from(createHmac('sha512', secret).update(input).digest('base64url'))
    // The text, not its bytes: a signature has one spelling (RFC 4648 §3.5).
    const given = Buffer.from(signature)
    return wanted.length === given.length && timingSafeEqual(wanted, given)
  })

function decode(part: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(
      new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(part, 'base64url')),
    )
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? { ...value } : {}
  } catch {
    return {}
  }
}

const isGuid = (value: unknown): boolean =>
  typeof value === 'string' && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i.test(value)

function isUser(data: unknown, sub: unknown): boolean {
  if (typeof data !== 'object' || data === null) return false
  const { userid, name, role }: Record<string, unknown> = { ...data }
  return userid === sub && typeof name === 'string' && typeof role === 'string' && role !== ''
}

const ANY_JSON = fc.oneof(
  fc.jsonValue({ maxDepth: 1 }),
  fc.constantFrom(
    NOW_SECONDS,
    NOW_SECONDS + 1,
    NOW_SECONDS + 5,
    NOW_SECONDS + 6,
    NOW_SECONDS - 1,
    ISSUER,
    USERID,
  ),
  fc.constantFrom('none', 'HS256', 'HS512', 'RS512', 'jwt', 'JWT', 'application/jwt', 'at+jwt', ''),
)

/** An object with some of its members replaced, left out or added. */
const changed = (members: Record<string, unknown>, added: readonly string[]) =>
  fc
    .dictionary(fc.constantFrom(...Object.keys(members), ...added), fc.option(ANY_JSON, { nil: undefined }), {
      maxKeys: 2,
    })
    .map((changes) => ({ ...members, ...changes }))

const headers = changed(HEADER, ['kid', 'jwk', 'jku', 'x5u', 'crit', 'b64', 'cty', 'zip'])
const claims = fc
  .tuple(changed(CLAIMS, ['aud', 'admin']), fc.option(changed(CLAIMS.data, ['admin'])))
  .map(([given, data]) => (data ? { ...given, data } : given))
const signatures = fc.constantFrom<[secret: Buffer, hash: string]>(
  [SECRET, 'sha512'],
  [SECRET, 'sha512'],
  [PREVIOUS, 'sha512'],
  [SECRET, 'sha256'],
  [Buffer.alloc(64), 'sha512'],
)

/** A token with a few characters of its text replaced, added or left out. */
const mutated = fc
  .tuple(
    fc.constantFrom(SECRET, PREVIOUS),
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat({ max: 1 }),
        fc.constantFrom('', '=', '==', '.', '-', '_', '+', '/', 'A', 'B', 'g', 'w', ' ', '\n', '%', 'é'),
      ),
      {
        maxLength: 2,
      },
    ),
  )
  .map(([secret, edits]) =>
    edits.reduce(
      (token, [position, removed, added]) => {
        // Half of the edits are in the last characters, where base64url has unused bits and padding.
        const at = position % 2 === 0 ? token.length - ((position / 2) % 3) : position % token.length
        return token.slice(0, at) + added + token.slice(at + removed)
      },
      sign(`${encode(HEADER)}.${encode(CLAIMS)}`, secret),
    ),
  )

it('accepts just the tokens that an independent verifier accepts: any header and claims', async () => {
  let accepted = 0
  const property = fc.asyncProperty(headers, claims, signatures, async (header, payload, [secret, hash]) => {
    const token = sign(`${encode(header)}.${encode(payload)}`, secret, hash)
    const expected = shouldAccept(token)
    if (expected) accepted += 1
    expect(await accepts(token), token).toBe(expected)
  })
  await fc.assert(property, { numRuns: 1000 })
  expect(accepted, 'valid tokens among them').toBeGreaterThan(20)
})

it('accepts just the tokens that an independent verifier accepts: any spelling', async () => {
  let accepted = 0
  const property = fc.asyncProperty(mutated, async (token) => {
    const expected = shouldAccept(token)
    if (expected) accepted += 1
    expect(await accepts(token), token).toBe(expected)
  })
  await fc.assert(property, { numRuns: 2000 })
  expect(accepted, 'valid tokens among them').toBeGreaterThan(20)
})

it('accepts just the tokens that an independent verifier accepts: any bytes under a valid signature', async () => {
  const parts = fc.oneof(
    fc.string({ unit: anyCharacter }),
    fc.string().map((text) => Buffer.from(text).toString('base64url')),
    fc.jsonValue().map(encode),
  )
  const property = fc.asyncProperty(parts, parts, async (header, payload) => {
    const token = sign(`${header}.${payload}`, SECRET)
    expect(await accepts(token), token).toBe(shouldAccept(token))
  })
  await fc.assert(property, { numRuns: 200 })
})
