import type { PasswordPolicy } from '../password-policy.ts'

export const DEFAULT_POLICY: PasswordPolicy = {
  MINIMUM_CHARS: 12,
  REQUIRE_UPPERCASE: 1,
  REQUIRE_LOWERCASE: 1,
  REQUIRE_SYMBOLS: 1,
  REQUIRE_NUMBERS: 1,
  ALLOW_WHITESPACE: 0,
  ALLOW_SEQUENTIAL: 0,
  ALLOW_REPEATED: 0,
  PASSWORD_HASH: 'argon2id',
}
