import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'
import { expect, it } from 'vitest'
import { describeAuthApi } from './auth-api-app.ts'

// The linters refuse localhost as a server.
const { openapi } = await describeAuthApi('https://auth.latchkey.test/sso')
const source = JSON.stringify(openapi)

it("keeps Redocly's recommended rules", async () => {
  expect(await lintFromString({ source, config: await createConfig({ extends: ['recommended'] }) })).toEqual(
    [],
  )
})

it("keeps Spectral's rules for OpenAPI", async () => {
  const linter = new spectral.Spectral()
  linter.setRuleset({ ...oas, extends: [] })
  expect(await linter.run(source)).toEqual([])
})
