import { type PasswordPolicy, rulesOf } from '@latchkey/shared/passwords/password-policy.ts'
import { LANGUAGES, type Language } from '@latchkey/shared/users/user.ts'
import { describeRule } from './rule-sentences.ts'

/** Says what each rule of the password policy requires. */
export const describePolicy = (policy: PasswordPolicy, language: Language) =>
  rulesOf(policy).map(({ rule, number }) => ({ rule, number, text: describeRule(rule, number, language) }))

/** Returns the language that a client prefers (RFC 9110 §12.5.4); English if it understands none. */
export function chooseLanguage(header = ''): Language {
  const preferred = header
    .toLowerCase()
    .split(',')
    .map((range) => {
      const [tag = '', quality = 'q=1'] = range.split(';').map((piece) => piece.trim())
      return { tag: tag.split('-')[0], quality: Number(quality.replace('q=', '')) }
    })
    .filter(({ quality }) => quality > 0)
    .toSorted((one, other) => other.quality - one.quality)
  for (const { tag } of preferred) {
    const language = LANGUAGES.find((each) => each === tag)
    if (language) return language
  }
  return 'en'
}
