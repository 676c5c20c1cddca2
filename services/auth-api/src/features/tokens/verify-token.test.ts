import { SignJWT } from 'jose'
import { expect, it } from 'vitest'
import { importSigningKey } from './signing-key.ts'
import { createTokenVerifier } from './verify-token.ts'

const ISSUER = 'http://localhost'
const USERID = '6f1c4d5e-0000-4000-8000-000000000000'

/** How many of `count` tokens with a name of `nameLength` are remembered in `maxBytes`. */
async function countRemembered(count: number, nameLength: number, maxBytes: number): Promise<number> {
  const key = await importSigningKey(new Uint8Array(64))
  const verifier = createTokenVerifier({ keys: [key], issuer: ISSUER, clock: () => 1_000_000, maxBytes })
  const sign = (jti: string) =>
    new SignJWT({ jti, data: { userid: USERID, name: 'a'.repeat(nameLength), role: 'user' } })
      .setProtectedHeader({ alg: 'HS512', typ: 'JWT' })
      .setIssuer(ISSUER)
      .setSubject(USERID)
      .setIssuedAt(1_000)
      .setNotBefore(1_000)
      .setExpirationTime(4_600)
      .sign(key)
  for (let token = 0; token < count; token++) await verifier.verify(await sign(String(token)))
  return verifier.size()
}

it('remembers as many tokens as fit into its memory: fewer long ones', async () => {
  expect(await countRemembered(50, 10, 40_000)).toBeGreaterThan(20)
  expect(await countRemembered(50, 1_000, 40_000)).toBeLessThan(12)
})
