import {
  findViolations,
  numberOf,
  type PasswordPolicy,
  type PolicyRule,
} from '@latchkey/shared/passwords/password-policy.ts'
import type { Fault } from '../fault.ts'

const DESCRIPTIONS: Record<PolicyRule, (number: number) => string> = {
  MINIMUM_CHARS: (minimum) => `needs at least ${minimum} characters`,
  MAXIMUM_CHARS: (maximum) => `must have at most ${maximum} characters`,
  MAXIMUM_BYTES: (maximum) => `must have at most ${maximum} bytes, since PASSWORD_HASH is bcrypt`,
  REQUIRE_UPPERCASE: (minimum) => `needs upper-case letters: ${minimum}`,
  REQUIRE_LOWERCASE: (minimum) => `needs lower-case letters: ${minimum}`,
  REQUIRE_SYMBOLS: (minimum) => `needs symbols: ${minimum}`,
  REQUIRE_NUMBERS: (minimum) => `needs digits: ${minimum}`,
  ALLOW_WHITESPACE: () => 'must not contain white space',
  ALLOW_SEQUENTIAL: () => 'must not contain a sequence such as abc or 321',
  ALLOW_REPEATED: () => 'must not contain a repetition such as aaa or ababab',
}

/** Describes every rule of the policy that the password breaks. */
export const findPasswordFaults = (password: string, policy: PasswordPolicy): Fault[] =>
  findViolations(password, policy).map((rule) => ({
    field: 'password',
    reason: DESCRIPTIONS[rule](numberOf(rule, policy)),
  }))
