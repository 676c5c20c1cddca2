import Fastify from 'fastify'
import { serializerCompiler, validatorCompiler } from 'fastify-type-provider-zod'
import { expect, it } from 'vitest'
import type { Claims } from '../../tokens/claims.ts'
import { TokenResponse } from '../../tokens/token-response.ts'
import { tokenRoutes } from './routes.ts'

const USERID = '6f1c4d5e-0000-4000-8000-000000000000'
const CLAIMS: Claims = {
  iss: 'latchkey',
  sub: USERID,
  iat: 1_000,
  nbf: 1_000,
  exp: 4_600,
  jti: 'one',
  data: { userid: USERID, name: 'Ada', role: 'user' },
}

it('POST /refreshtoken refreshes a signed token, and sends nothing beyond the token and its user', async () => {
  await using app = Fastify()
  app.setValidatorCompiler(validatorCompiler)
  app.setSerializerCompiler(serializerCompiler)
  const routes: unknown[] = []
  app.addHook('onRoute', ({ method, url, auth, problems, schema }) => {
    routes.push({ method, url, auth, problems, operationId: schema?.operationId })
  })
  app.decorateRequest('jwt', { getter: () => CLAIMS })
  await app.register(tokenRoutes, {
    async refreshToken({ jwt: { jti, data } }) {
      return { token: `after ${jti}`, data: { ...data, secret: 'x' }, secret: 'x' }
    },
  })
  const response = await app.inject({ method: 'POST', url: '/refreshtoken' })
  expect(TokenResponse.meta()?.id).toBe('Token')
  expect(response.json()).toEqual({ token: 'after one', data: CLAIMS.data })
  expect(routes).toEqual([
    {
      method: 'POST',
      url: '/refreshtoken',
      auth: 'signed',
      problems: ['token_not_refreshable'],
      operationId: 'refreshToken',
    },
  ])
})
