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
    const { sealTotp, openTotp, warn } = secretsOf()
    const sealed = await sealTotp('ada', 'JBSWY3DP')
    expect(await openTotp('ada', sealed)).toBe('JBSWY3DP')
    expect(warn).not.toHaveBeenCalled()
    expect(await openTotp('eve', sealed)).toBeUndefined()
    expect(warn).toHaveBeenCalledWith(
      { userid: 'eve', purpose: 'totp' },
      expect.stringContaining('FACTOR_SECRET'),
    )
  })

  it('is opened for its purpose only', async () => {
    const { openTotp, sealRecoveryCode } = secretsOf()
    expect(await openTotp('ada', await sealRecoveryCode('ada', CODE))).toBeUndefined()
  })

  it('has of a recovery code its SHA-256', async () => {
    const { sealRecoveryCode, isRecoveryCode } = secretsOf()
    const sealed = await sealRecoveryCode('ada', CODE)
    const value = createHash('sha256').update(CODE).digest('base64url')
    const content = JSON.parse(await createFactorSealer(SECRET, undefined).open(sealed))
    expect(content).toEqual({ userid: 'ada', purpose: 'recovery', value })
    expect(await isRecoveryCode('ada', sealed, CODE)).toBe(true)
    expect(await isRecoveryCode('ada', sealed, `${CODE}0`)).toBe(false)
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
    const secrets = secretsOf()
    const hash = await secrets.sealRecoveryCode('ada', '001111111111')
    const factors = { findCodes: async () => [{ id: '1', hash }], useCode: async () => true }
    const use = createRecoveryCodes(secrets).use
    expect(await use(factors as unknown as Parameters<typeof use>[0], 'ada', 'oO1i-lILi-1IL1')).toBe(0)
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
