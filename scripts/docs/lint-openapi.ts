import { createConfig, lintFromString } from '@redocly/openapi-core'
import spectral from '@stoplight/spectral-core'
import { oas } from '@stoplight/spectral-rulesets'

/** One line for each error and warning of Redocly's `recommended` rules and Spectral's `spectral:oas`. */
export async function lintOpenapi(document: unknown): Promise<string[]> {
  const source = JSON.stringify(document)
  return [...(await lintWithRedocly(source)), ...(await lintWithSpectral(source))]
}

async function lintWithRedocly(source: string): Promise<string[]> {
  const problems = await lintFromString({ source, config: await createConfig({ extends: ['recommended'] }) })
  return problems.map(
    ({ severity, ruleId, message, location: [at] }) =>
      `redocly ${severity} ${ruleId} at ${at && 'pointer' in at ? at.pointer : '#/'}: ${message}`,
  )
}

async function lintWithSpectral(source: string): Promise<string[]> {
  const linter = new spectral.Spectral()
  linter.setRuleset({ ...oas, extends: [] })
  const findings = await linter.run(source)
  return findings.map(({ code, message, path }) => `spectral ${code} at #/${path.join('/')}: ${message}`)
}
