import { expect, it } from 'vitest'
import { z } from 'zod'
import { describeAuthApi } from './auth-api-app.ts'
import { lintOpenapi } from './lint-openapi.ts'

const { openapi } = await describeAuthApi('https://auth.latchkey.test/sso')

it('has no finding about the API', async () => {
  expect(await lintOpenapi(openapi)).toEqual([])
})

it('has a line for each finding of either linter', async () => {
  const broken = z
    .looseObject({ paths: z.record(z.string(), z.record(z.string(), z.looseObject({}))) })
    .parse(openapi)
  const login = broken.paths['/login']?.post
  const { security: _, description: __, ...operation } = login ?? {}
  const findings = await lintOpenapi({ ...broken, paths: { '/login': { post: operation } } })
  expect(findings.join('\n')).toMatch(/^redocly error security-defined at #\/paths\/~1login\/post: /m)
  expect(findings.join('\n')).toMatch(/^spectral operation-description at #\/paths\/\/login\/post: /m)
})
