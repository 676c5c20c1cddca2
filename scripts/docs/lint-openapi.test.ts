import { expect, it } from 'vitest'
import { describeAuthApi } from './auth-api-app.ts'
import { lintOpenapi } from './lint-openapi.ts'

const { openapi } = await describeAuthApi('https://auth.latchkey.test/sso')

it('has no finding about the API', async () => {
  expect(await lintOpenapi(openapi)).toEqual([])
})

it('has a line for each finding of either linter', async () => {
  const logIn = { operationId: 'logIn', summary: 'Logs in', responses: { 200: { description: 'OK' } } }
  const findings = await lintOpenapi({
    openapi: '3.1.0',
    info: { title: 'An API', version: '1' },
    paths: { '/login': { post: logIn } },
  })
  expect(findings.join('\n')).toMatch(/^redocly error security-defined at #\/paths\/~1login\/post: /m)
  expect(findings.join('\n')).toMatch(/^spectral operation-description at #\/paths\/\/login\/post: /m)
})
