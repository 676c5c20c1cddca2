import { expect, it } from 'vitest'
import { describeAddresses } from './welcome.ts'

it.each([
  { environment: { APP_ENV: 'dev' }, pages: ['/docs', '/account/'] },
  { environment: { APP_ENV: 'dev', DOCS_PAGE: 'off' }, pages: ['/account/'] },
  { environment: { APP_ENV: 'dev', ACCOUNT_PAGES: 'off' }, pages: ['/docs'] },
  { environment: { APP_ENV: 'prod' }, pages: [] },
])('the addresses of $environment have the pages that are on: $pages', ({ environment, pages }) => {
  const url = 'postgres://127.0.0.1:54329/latchkey'
  const addresses = {
    given: {},
    environment: { ...environment, DATABASE_URL: url, QUEUE_URL: url },
    api: 'http://127.0.0.1:8080',
    adminFile: '.data/environment',
    published: [],
  }
  const shown = describeAddresses(addresses, 1000).match(/(?<=localhost:8080)\/\S+/g) ?? []
  expect(shown).toEqual(pages)
})
