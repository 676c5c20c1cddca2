import { expect, it } from 'vitest'
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
