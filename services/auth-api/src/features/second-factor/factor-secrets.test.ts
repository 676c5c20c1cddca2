import { createHash, randomBytes } from 'node:crypto'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import { describe, expect, it, vi } from 'vitest'
import { createFactorSecrets } from './factor-secrets.ts'
import { createRecoveryCodes } from './recovery-codes/recovery-codes.ts'
import { findStep, generateTotpSecret, totpUri } from './totp/totp.ts'

const SECRET = randomBytes(32)
const CODE = '0123456789ab'

function secretsOf() {
  const warn = vi.fn()
  return { warn, ...createFactorSecrets({ secret: SECRET, previousSecret: undefined, logger: { warn } }) }
}

describe('a sealed secret', () => {
  it('is opened for its user alone', async () => {
    const { seal, open, warn } = secretsOf()
    const sealed = await seal('ada', 'totp', 'JBSWY3DP')
    expect(await open('ada', 'totp', sealed)).toBe('JBSWY3DP')
    expect(warn).not.toHaveBeenCalled()
    expect(await open('eve', 'totp', sealed)).toBeUndefined()
    expect(warn).toHaveBeenCalledWith(
      { userid: 'eve', purpose: 'totp' },
      expect.stringContaining('sealed by another secret, or for another user'),
    )
  })

  it('is opened for its purpose only', async () => {
    const { seal, open } = secretsOf()
    expect(await open('ada', 'totp', await seal('ada', 'recovery', CODE))).toBeUndefined()
  })
})

describe('recovery codes', () => {
  /** The codes of a user, in memory. */
  function aRepository() {
    let rows: { id: string; hash: string }[] = []
    return {
      async replaceCodes(_userid: string, replaced: typeof rows) {
        rows = replaced
      },
      findCodes: async () => rows,
      async useCode(id: string) {
        rows = rows.filter((row) => row.id !== id)
        return true
      },
    } as unknown as Parameters<ReturnType<typeof createRecoveryCodes>['use']>[0]
  }

  it('are stored as their sealed SHA-256', async () => {
    const factors = aRepository()
    const recovery = createRecoveryCodes(secretsOf())
    await recovery.replace(factors, 'ada', [CODE], new Date())
    const sealed = (await factors.findCodes('ada'))[0]?.hash ?? ''
    const value = createHash('sha256').update(CODE).digest('base64url')
    const content = JSON.parse(await createFactorSealer(SECRET, undefined).open(sealed))
    expect(content).toEqual({ userid: 'ada', purpose: 'recovery', value })
    expect(await recovery.use(factors, 'ada', `${CODE}0`)).toBeUndefined()
    expect(await recovery.use(factors, 'ada', CODE)).toBe(0)
  })

  it('are ten, of three groups of four letters that are not mistaken for one another', async () => {
    const codes = createRecoveryCodes(secretsOf()).create()
    expect(new Set(codes).size).toBe(10)
    for (const code of codes)
      expect(code).toMatch(/^[0-9a-hjkmnp-tv-z]{4}-[0-9a-hjkmnp-tv-z]{4}-[0-9a-hjkmnp-tv-z]{4}$/)
  })

  it('are used once, typed in capitals, with spaces, and with letters for the digits that they look like', async () => {
    const recovery = createRecoveryCodes(secretsOf())
    const factors = aRepository()
    const codes = recovery.create()
    await recovery.replace(factors, 'ada', codes, new Date())
    for (const [index, code] of codes.entries()) {
      const typed = code
        .toUpperCase()
        .replaceAll('-', ' ')
        .replaceAll('0', 'O')
        .replaceAll('1', index % 2 ? 'I' : 'l')
      expect(await recovery.use(factors, 'ada', typed), code).toBe(9 - index)
      expect(await recovery.use(factors, 'ada', code), code).toBeUndefined()
    }
  })

  it('have digits where a user types the letters that look like them', async () => {
    const recovery = createRecoveryCodes(secretsOf())
    const factors = aRepository()
    await recovery.replace(factors, 'ada', ['001111111111'], new Date())
    expect(await recovery.use(factors, 'ada', 'oO1i-lILi-1IL1')).toBe(0)
  })
})

describe('codes of authenticator apps', () => {
  it('are those of RFC 6238: SHA-1, six digits, thirty seconds, and one step more or less', () => {
    // Appendix B, its secret in base 32, the last six digits of its codes.
    const secret = 'GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ'
    expect(findStep(secret, '287082', 59_000)).toBe(1)
    expect(findStep(secret, '081804', 1_111_111_109_000)).toBe(37_037_036)
    expect(findStep(secret, '287082', 89_000)).toBe(1)
    expect(findStep(secret, '287082', 90_000)).toBeUndefined()
    expect(findStep(undefined, '287082', 59_000)).toBeUndefined()
  })

  it('come from a secret of 160 bits, by rules that the QR code names', () => {
    const secret = generateTotpSecret()
    expect(secret).toMatch(/^[A-Z2-7]{32}$/)
    expect(generateTotpSecret()).not.toBe(secret)
    const uri = new URL(totpUri(secret, { issuer: 'Latchkey', label: 'ada@example.com' }))
    expect(Object.fromEntries(uri.searchParams)).toEqual({
      issuer: 'Latchkey',
      secret,
      algorithm: 'SHA1',
      digits: '6',
      period: '30',
    })
  })
})
