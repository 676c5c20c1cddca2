import { findViolations, type PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { describe, expect, it } from 'vitest'
import { generatePassword } from './generate-password.ts'

describe('a generated password', () => {
  it.each<Partial<PasswordPolicy>>([
    {},
    { MINIMUM_CHARS: 64, REQUIRE_SYMBOLS: 20, REQUIRE_NUMBERS: 20 },
    { MINIMUM_CHARS: 0, REQUIRE_UPPERCASE: 0, REQUIRE_LOWERCASE: 0, REQUIRE_SYMBOLS: 0, REQUIRE_NUMBERS: 0 },
  ])('satisfies the policy %o', (given) => {
    const policy = { ...DEFAULT_POLICY, ...given }
    expect(findViolations(generatePassword(policy), policy)).toEqual([])
  })
})
