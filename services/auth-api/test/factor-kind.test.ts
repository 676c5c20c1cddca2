import { aUser, PASSWORD, type TestUser } from '@latchkey/test-support/a-user.ts'
import { decodeJwt } from 'jose'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { FACTOR_KINDS } from '../src/app.ts'
import { answer, challengeOf, enrol, factorSettings, post } from './support/factors.ts'
import { pin } from './support/pin-factor/kind.ts'
import { aToken, bearer, logIn, mailTo, startApp, type TestApp } from './support/start-app.ts'

const RIGHT = '20260301'
const WRONG = '20260302'

const SETTINGS = factorSettings()
const LIMITED = { ...SETTINGS, RATE_LIMIT_LOGIN: '2' }
const OPTIONS = { factorKinds: [...FACTOR_KINDS, pin] }

let app: TestApp
beforeAll(async () => {
  app = await startApp({ ...OPTIONS, settings: SETTINGS })
})
afterAll(() => app[Symbol.asyncDispose]())

describe('a kind of factor that is a folder and a line of app.ts', () => {
  let user: TestUser
  let token: string
  let recoveryCodes: string[]
  beforeEach(async () => {
    user = await aUser(app)
    const payload = { current_password: PASSWORD, pin: RIGHT }
    const added = await post(app, '/profile/factors/pin', payload, await aToken(app, user))
    expect(added.statusCode, added.body).toBe(200)
    ;({ token, recovery_codes: recoveryCodes } = added.json())
  })

  it('is enrolled with recovery codes and a mail, described, listed and removed', async () => {
    expect(recoveryCodes).toHaveLength(10)
    expect(decodeJwt(token).amr).toEqual(['pwd', 'pin', 'mfa'])
    const { variables } = await mailTo(app, user.email, 'factor-added')
    expect(variables).toMatchObject({ custom: 'custom' })
    const { components } = (await app.server.inject('/openapi.json')).json()
    expect(components.schemas.Factors.properties.factors.items.properties.kind.enum).toEqual([
      'totp',
      'passkey',
      'pin',
    ])
    const headers = bearer(token)
    const { factors } = (await app.server.inject({ url: '/profile/factors', headers })).json()
    expect(factors).toMatchObject([{ kind: 'pin', name: null }])
    const url = `/profile/factors/${factors[0].id}`
    expect((await app.server.inject({ method: 'DELETE', url, headers })).statusCode).toBe(204)
    expect((await logIn(app, user.email)).statusCode).toBe(200)
  })

  it('is the second step of a login, beside the recovery codes', async () => {
    const { challenge, factors } = (await logIn(app, user.email)).json()
    expect(factors).toEqual(['pin'])
    expect((await answer(app, challenge, WRONG)).json().detail).toBe('The PIN is wrong')
    const won = await answer(app, challenge, RIGHT)
    expect(decodeJwt(won.json().token).amr).toEqual(['pwd', 'pin', 'mfa'])
    const recovered = await answer(app, await challengeOf(app, user), recoveryCodes[0] ?? '')
    expect(decodeJwt(recovered.json().token).amr).toEqual(['pwd', 'otp', 'mfa'])
  })

  it('steps a token up, which then names the factor of the step-up only', async () => {
    const { token: byApp } = await enrol(app, token, Date.now())
    expect(decodeJwt(byApp).amr).toEqual(['pwd', 'otp', 'mfa'])
    const raised = await post(app, '/login/stepup', { code: RIGHT }, byApp)
    expect(decodeJwt(raised.json().token).amr).toEqual(['pwd', 'pin', 'mfa'])
  })

  it('is limited and counted', async () => {
    await using limited = await startApp({ ...OPTIONS, database: app.database, settings: LIMITED })
    const statuses = []
    for (const code of [WRONG, WRONG, RIGHT])
      statuses.push((await answer(limited, await challengeOf(limited, user), code)).statusCode)
    expect(statuses).toEqual([422, 422, 429])
    expect(await limited.registry.metrics()).toContain(
      'latchkey_second_factors_total{factor="pin",outcome="refused"} 2',
    )
  })
})
