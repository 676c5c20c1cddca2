import { AppError } from '../errors/app-error.ts'
import { boundedString } from '../users/storable-text.ts'
import { exceedsBytes, getScheme } from './schemes.ts'

/** The specification's settings. REQUIRE_* are minimum counts; ALLOW_* are 1 or 0. */
export const POLICY_SETTINGS = [
  'MINIMUM_CHARS',
  'REQUIRE_UPPERCASE',
  'REQUIRE_LOWERCASE',
  'REQUIRE_SYMBOLS',
  'REQUIRE_NUMBERS',
  'ALLOW_WHITESPACE',
  'ALLOW_SEQUENTIAL',
  'ALLOW_REPEATED',
] as const

type PolicySetting = (typeof POLICY_SETTINGS)[number]

/** The settings, and the scheme of new hashes, which may not read every byte. */
export type PasswordPolicy = Record<PolicySetting, number> & { PASSWORD_HASH: string }

export type PolicyRule = PolicySetting | 'MAXIMUM_CHARS' | 'MAXIMUM_BYTES'

/** Bounds the work that a password can cause; far longer than any that a person types. */
export const MAXIMUM_CHARS = 256

/** A character may be typed as a letter and three marks, which NFC makes one again. */
const TYPED_CHARS = 4 * MAXIMUM_CHARS

/** The schema of a password to check. */
export const givenPasswordSchema = () => boundedString(TYPED_CHARS).meta({ format: 'password' })

/** The schema of the current password, which only a user without a password leaves out. */
export const currentPasswordSchema = () =>
  givenPasswordSchema()
    .min(1, 'must not be empty')
    .optional()
    .describe(
      'The current password. Only a user without a password leaves it out, whose login must then be of the last five minutes.',
    )

/** The schema of a new password. Its policy is checked later: it has its own problem type. */
export const newPasswordSchema = () =>
  boundedString(TYPED_CHARS)
    .refine((text) => text.isWellFormed(), 'must be whole characters')
    .meta({ format: 'password', description: 'The new password.' })

/** The rules that `password` breaks, in the order of the specification; none when it may be set. */
export function findViolations(password: string, policy: PasswordPolicy): PolicyRule[] {
  const text = password.normalize('NFC')
  const characters = [...text]
  const count = (pattern: RegExp) => characters.filter((character) => pattern.test(character)).length
  const broken: Record<PolicyRule, boolean> = {
    MINIMUM_CHARS: characters.length < policy.MINIMUM_CHARS,
    MAXIMUM_CHARS: characters.length > numberOf('MAXIMUM_CHARS', policy),
    MAXIMUM_BYTES: exceedsBytes(text, policy.PASSWORD_HASH),
    REQUIRE_UPPERCASE: count(/\p{Lu}/u) < policy.REQUIRE_UPPERCASE,
    REQUIRE_LOWERCASE: count(/\p{Ll}/u) < policy.REQUIRE_LOWERCASE,
    REQUIRE_SYMBOLS: count(/[^\p{L}\p{Nd}\p{White_Space}]/u) < policy.REQUIRE_SYMBOLS,
    REQUIRE_NUMBERS: count(/\p{Nd}/u) < policy.REQUIRE_NUMBERS,
    ALLOW_WHITESPACE: policy.ALLOW_WHITESPACE === 0 && /\p{White_Space}/u.test(text),
    ALLOW_SEQUENTIAL: policy.ALLOW_SEQUENTIAL === 0 && hasSequence(text),
    ALLOW_REPEATED: policy.ALLOW_REPEATED === 0 && REPEATED.test(text),
  }
  return (Object.keys(broken) as PolicyRule[]).filter((rule) => broken[rule])
}

/** Throws `password_refused` with the `violations` of a password that breaks the policy. */
export function requirePolicy(password: string, policy: PasswordPolicy): void {
  const violations = findViolations(password, policy).map((rule) => ({
    rule,
    number: numberOf(rule, policy),
  }))
  if (violations.length === 0) return
  throw new AppError('password_refused', 'The password breaks the password policy', {
    details: { violations },
  })
}

/** The rules that a password can break, each with its number. */
export const rulesOf = (policy: PasswordPolicy): { rule: PolicyRule; number: number }[] =>
  RULES.map((rule) => ({ rule, number: numberOf(rule, policy) })).filter(({ rule, number }) =>
    rule.startsWith('ALLOW_') ? number === 0 : number > 0,
  )

const RULES: readonly PolicyRule[] = [
  'MINIMUM_CHARS',
  'MAXIMUM_CHARS',
  'MAXIMUM_BYTES',
  ...POLICY_SETTINGS.filter((name) => name !== 'MINIMUM_CHARS'),
]

/** The number of a rule: the value of its setting, or a bound of every password; 0 for a bound that the scheme does not have. */
export function numberOf(rule: PolicyRule, policy: PasswordPolicy): number {
  const { maximumBytes = 0 } = getScheme(policy.PASSWORD_HASH)
  if (rule === 'MAXIMUM_BYTES') return maximumBytes
  return rule === 'MAXIMUM_CHARS' ? Math.min(MAXIMUM_CHARS, maximumBytes || MAXIMUM_CHARS) : policy[rule]
}

/** One or two characters three times in a row: `aaa`, `ababab`. */
const REPEATED = /(.{1,2})\1\1/su

const RUN_LENGTH = 3
// The digits end with 0, as on a keyboard: 890 is a run.
const RUNS = ['abcdefghijklmnopqrstuvwxyz', '01234567890'].flatMap((run) => [
  run,
  [...run].reverse().join(''),
])

function hasSequence(text: string): boolean {
  const lower = text.toLowerCase()
  for (let start = 0; start + RUN_LENGTH <= lower.length; start++) {
    const piece = lower.slice(start, start + RUN_LENGTH)
    if (RUNS.some((run) => run.includes(piece))) return true
  }
  return false
}
