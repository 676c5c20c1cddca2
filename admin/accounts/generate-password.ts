import { randomInt } from 'node:crypto'
import { findViolations, type PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'

/** Without what is mistaken for something else when read aloud or typed off paper: 0 O 1 l I. */
const UPPERCASE = 'ABCDEFGHJKLMNPQRSTUVWXYZ'
const LOWERCASE = 'abcdefghijkmnopqrstuvwxyz'
const NUMBERS = '23456789'
const SYMBOLS = '!#%+-.:=?@_'
const ANY = UPPERCASE + LOWERCASE + NUMBERS + SYMBOLS

/** Twenty of about 66 characters hold 120 bits. */
const LEAST_CHARS = 20
const ATTEMPTS = 1_000

/** A random password that the policy accepts; throws when the settings leave none. */
export function generatePassword(policy: PasswordPolicy): string {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const password = draw(policy)
    if (findViolations(password, policy).length === 0) return password
  }
  throw new Error('The password policy of the settings leaves no password to generate; give one yourself')
}

function draw(policy: PasswordPolicy): string {
  const characters = [
    ...pick(UPPERCASE, policy.REQUIRE_UPPERCASE),
    ...pick(LOWERCASE, policy.REQUIRE_LOWERCASE),
    ...pick(SYMBOLS, policy.REQUIRE_SYMBOLS),
    ...pick(NUMBERS, policy.REQUIRE_NUMBERS),
  ]
  const length = Math.max(LEAST_CHARS, policy.MINIMUM_CHARS)
  return shuffle([...characters, ...pick(ANY, length - characters.length)]).join('')
}

const pick = (alphabet: string, count: number): string[] =>
  Array.from({ length: Math.max(0, count) }, () => alphabet.charAt(randomInt(alphabet.length)))

/** Fisher and Yates's: every order is equally likely. */
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
