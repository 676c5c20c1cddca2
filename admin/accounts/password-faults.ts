import {
  findViolations,
  MAXIMUM_CHARS,
  type PasswordPolicy,
  type PolicyRule,
} from '@latchkey/shared/passwords/password-policy.ts'
import type { Fault } from '../fault.ts'

const DESCRIPTIONS: Record<PolicyRule, (least: number) => string> = {
  MINIMUM_CHARS: (least) => `needs at least ${least} characters`,
  MAXIMUM_CHARS: () => `must have at most ${MAXIMUM_CHARS} characters`,
  REQUIRE_UPPERCASE: (least) => `needs upper-case letters: ${least}`,
  REQUIRE_LOWERCASE: (least) => `needs lower-case letters: ${least}`,
  REQUIRE_SYMBOLS: (least) => `needs symbols: ${least}`,
  REQUIRE_NUMBERS: (least) => `needs digits: ${least}`,
  ALLOW_WHITESPACE: () => 'must not contain white space',
  ALLOW_SEQUENTIAL: () => 'must not contain a sequence such as abc or 321',
  ALLOW_REPEATED: () => 'must not contain a repetition such as aaa or ababab',
}

/** Every rule of the policy that the password breaks, in words. */
export const findPasswordFaults = (password: string, policy: PasswordPolicy): Fault[] =>
  findViolations(password, policy).map((rule) => ({
    field: 'password',
    reason: DESCRIPTIONS[rule](rule === 'MAXIMUM_CHARS' ? MAXIMUM_CHARS : policy[rule]),
  }))
