/**
 * A password for each number, which the policy accepts: letters in place of digits, which would be a sequence, and a
 * separator for each place, because 111 would be a repetition.
 */
export const numberedPassword = (number: number): string =>
  `N3w-p4ssw0rd!${[...String(number)].map((digit, place) => `${LETTERS[Number(digit)]}${SEPARATORS[place]}`).join('')}`

const LETTERS = 'kqwzxvjbhm'
const SEPARATORS = '-+=~?*^'
