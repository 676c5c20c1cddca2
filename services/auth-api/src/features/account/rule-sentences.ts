import type { PolicyRule } from '@latchkey/shared/passwords/password-policy.ts'
import type { Language } from '@latchkey/shared/users/user.ts'

/** A sentence, or one for the number 1 and one for greater numbers, which take the place of `#`. */
type Sentence = string | readonly [one: string, more: string]

const SENTENCES: Record<Language, Record<PolicyRule, Sentence>> = {
  en: {
    MINIMUM_CHARS: ['At least one character.', 'At least # characters.'],
    MAXIMUM_CHARS: ['At most one character.', 'At most # characters.'],
    MAXIMUM_BYTES: [
      'At most one byte.',
      'At most # bytes: a letter with an accent counts as two, an emoji as four.',
    ],
    REQUIRE_UPPERCASE: ['At least one capital letter.', 'At least # capital letters.'],
    REQUIRE_LOWERCASE: ['At least one small letter.', 'At least # small letters.'],
    REQUIRE_SYMBOLS: [
      'At least one character that is neither a letter nor a digit.',
      'At least # characters that are neither letters nor digits.',
    ],
    REQUIRE_NUMBERS: ['At least one digit.', 'At least # digits.'],
    ALLOW_WHITESPACE: 'No spaces.',
    ALLOW_SEQUENTIAL: 'No sequence such as abc or 321.',
    ALLOW_REPEATED: 'No repetition such as aaa or ababab.',
  },
  fr: {
    MINIMUM_CHARS: ['Au moins un caractère.', 'Au moins # caractères.'],
    MAXIMUM_CHARS: ['Au plus un caractère.', 'Au plus # caractères.'],
    MAXIMUM_BYTES: [
      'Au plus un octet.',
      'Au plus # octets : une lettre accentuée compte pour deux, un émoji pour quatre.',
    ],
    REQUIRE_UPPERCASE: ['Au moins une majuscule.', 'Au moins # majuscules.'],
    REQUIRE_LOWERCASE: ['Au moins une minuscule.', 'Au moins # minuscules.'],
    REQUIRE_SYMBOLS: [
      'Au moins un caractère qui n’est ni une lettre ni un chiffre.',
      'Au moins # caractères qui ne sont ni des lettres ni des chiffres.',
    ],
    REQUIRE_NUMBERS: ['Au moins un chiffre.', 'Au moins # chiffres.'],
    ALLOW_WHITESPACE: 'Pas d’espaces.',
    ALLOW_SEQUENTIAL: 'Pas de suite comme abc ou 321.',
    ALLOW_REPEATED: 'Pas de répétition comme aaa ou ababab.',
  },
  pt: {
    MINIMUM_CHARS: ['Pelo menos um carácter.', 'Pelo menos # caracteres.'],
    MAXIMUM_CHARS: ['No máximo um carácter.', 'No máximo # caracteres.'],
    MAXIMUM_BYTES: [
      'No máximo um byte.',
      'No máximo # bytes: uma letra com acento conta como dois, um emoji como quatro.',
    ],
    REQUIRE_UPPERCASE: ['Pelo menos uma letra maiúscula.', 'Pelo menos # letras maiúsculas.'],
    REQUIRE_LOWERCASE: ['Pelo menos uma letra minúscula.', 'Pelo menos # letras minúsculas.'],
    REQUIRE_SYMBOLS: [
      'Pelo menos um carácter que não seja letra nem algarismo.',
      'Pelo menos # caracteres que não sejam letras nem algarismos.',
    ],
    REQUIRE_NUMBERS: ['Pelo menos um algarismo.', 'Pelo menos # algarismos.'],
    ALLOW_WHITESPACE: 'Sem espaços.',
    ALLOW_SEQUENTIAL: 'Sem sequências como abc ou 321.',
    ALLOW_REPEATED: 'Sem repetições como aaa ou ababab.',
  },
}

/** Says what a rule of the password policy requires. */
export function describeRule(rule: PolicyRule, number: number, language: Language): string {
  const sentence = SENTENCES[language][rule]
  if (typeof sentence === 'string') return sentence
  const [one, more] = sentence
  return number === 1 ? one : more.replace('#', String(number))
}
