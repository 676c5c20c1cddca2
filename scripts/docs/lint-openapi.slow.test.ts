import { createConfig, lintFromString } from '@redocly/openapi-core'
import { expect, it } from 'vitest'
import { describeAuthApi } from './auth-api-app.ts'

it("keeps Redocly's recommended rules, and describes each operation and tag", async () => {
  // The linter refuses localhost as a server.
  const { openapi } = await describeAuthApi('https://auth.latchkey.test/sso')
  const config = await createConfig({
    extends: ['recommended'],
    rules: { 'operation-description': 'error', 'operation-tag-defined': 'error', 'info-contact': 'error' },
  })
  expect(await lintFromString({ source: JSON.stringify(openapi), config })).toEqual([])
})
