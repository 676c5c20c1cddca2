import { randomInt } from 'node:crypto'
import { findViolations, type PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'

/** Characters that are not confused when read aloud or copied from paper: not 0, O, 1, l or I. */
const UPPERCASE = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const LOWERCASE = 'abcdefghijkmnopqrstuvwxyz'
const NUMBERS = '23456789'
const SYMBOLS = '!#%+-.:=?@_'
const ANY = UPPERCASE + LOWERCASE + NUMBERS + SYMBOLS

/** Twenty of about 66 characters contain 120 bits of entropy. */
const MIN_CHARS = 20
const MAX_ATTEMPTS = 1_000

/** Generates a random password that satisfies the policy; throws when no password seems to. */
export function generatePassword(policy: PasswordPolicy): string {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const password = draw(policy)
    if (findViolations(password, policy).length === 0) return password
  }
  throw new Error('No password could be generated for the password policy in the settings; give a password')
}

function draw(policy: PasswordPolicy): string {
  const characters = [
    ...pick(UPPERCASE, policy.REQUIRE_UPPERCASE),
    ...pick(LOWERCASE, policy.REQUIRE_LOWERCASE),
    ...pick(SYMBOLS, policy.REQUIRE_SYMBOLS),
    ...pick(NUMBERS, policy.REQUIRE_NUMBERS),
  ]
  const length = Math.max(MIN_CHARS, policy.MINIMUM_CHARS)
  return shuffle([...characters, ...pick(ANY, length - characters.length)]).join('')
}

const pick = (alphabet: string, count: number): string[] =>
  Array.from({ length: Math.max(0, count) }, () => alphabet.charAt(randomInt(alphabet.length)))

/** Fisher-Yates: every order is equally likely. */
function shuffle(characters: string[]): string[] {
  const shuffled = [...characters]
  for (let last = shuffled.length - 1; last > 0; last--) {
    const other = randomInt(last + 1)
    const moved = shuffled[last] ?? ''
    shuffled[last] = shuffled[other] ?? ''
    shuffled[other] = moved
  }
  return shuffled
}
