import { describe, expect, it } from 'vitest'
import { startApp } from './support/start-app.ts'

it('each rule has its number, and a sentence in the language of the asker', async () => {
  await using app = await startApp({
    settings: { REQUIRE_SYMBOLS: '2', ALLOW_WHITESPACE: '1', REQUIRE_NUMBERS: '0' },
  })
  const ask = async (header?: string) => {
    const headers = header === undefined ? {} : { 'accept-language': header }
    const response = await app.server.inject({ url: '/password-policy', headers })
    return { language: response.headers['content-language'], rules: response.json().rules }
  }
  const english = await ask()
  expect(english).toEqual({
    language: 'en',
    rules: [
      { rule: 'MINIMUM_CHARS', number: 12, text: 'At least 12 characters.' },
      { rule: 'MAXIMUM_CHARS', number: 256, text: 'At most 256 characters.' },
      { rule: 'REQUIRE_UPPERCASE', number: 1, text: 'At least one capital letter.' },
      { rule: 'REQUIRE_LOWERCASE', number: 1, text: 'At least one small letter.' },
      {
        rule: 'REQUIRE_SYMBOLS',
        number: 2,
        text: 'At least 2 characters that are neither letters nor digits.',
      },
      { rule: 'ALLOW_SEQUENTIAL', number: 0, text: 'No sequence such as abc or 321.' },
      { rule: 'ALLOW_REPEATED', number: 0, text: 'No repetition such as aaa or ababab.' },
    ],
  })
  for (const [header, language, text] of [
    ['pt-BR,pt;q=0.9,en;q=0.8', 'pt', 'Pelo menos 12 caracteres.'],
    ['de, fr;q=0.5, pt;q=0.4', 'fr', 'Au moins 12 caractères.'],
    ['fr;q=0, en-GB;q=0.1', 'en', 'At least 12 characters.'],
    ['*', 'en', 'At least 12 characters.'],
    [';;q=x,,', 'en', 'At least 12 characters.'],
  ] as const)
    expect(
      [await ask(header)].map((each) => [each.language, each.rules[0].text]),
      header,
    ).toEqual([[language, text]])
})

describe('with PASSWORD_HASH=bcrypt, which reads 72 bytes', () => {
  const whole = 'Aq7!kP9-'.repeat(9)
  const settings = { PASSWORD_HASH: 'bcrypt', SIGN_UP: 'on', ALLOW_REPEATED: '1' }

  it('the rules say so', async () => {
    await using app = await startApp({ settings })
    const { rules } = (await app.server.inject('/password-policy')).json()
    expect(rules).toContainEqual({ rule: 'MAXIMUM_CHARS', number: 72, text: 'At most 72 characters.' })
    expect(rules).toContainEqual({
      rule: 'MAXIMUM_BYTES',
      number: 72,
      text: 'At most 72 bytes: a letter with an accent counts as two, an emoji as four.',
    })
  })

  it.each([`${whole}x`, `${whole.slice(0, 40)}${'ü'.repeat(17)}`])(
    'no longer password is set, whatever its characters: %s',
    async (password) => {
      await using app = await startApp({ settings })
      const signUp = (given: string) =>
        app.server.inject({
          method: 'POST',
          url: '/signup',
          payload: { email: 'ada@example.com', username: 'ada', name: 'Ada', password: given },
        })
      const refused = (await signUp(password)).json()
      expect(refused.type).toBe('urn:latchkey:problem:password-refused')
      expect(refused.violations).toContainEqual({ rule: 'MAXIMUM_BYTES', number: 72 })
      expect((await signUp(whole)).statusCode).toBe(202)
    },
  )
})
