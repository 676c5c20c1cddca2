import { randomBytes, randomUUID } from 'node:crypto'
import { createAuditRepository } from '@latchkey/shared/audit/audit-repository.ts'
import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import { aUser, type TestUser } from '@latchkey/test-support/a-user.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import {
  answer,
  challengeOf,
  codeAt,
  enrolUser,
  factorSettings,
} from '../../services/auth-api/test/support/factors.ts'
import { bearer, logIn, startApp, type TestApp } from '../../services/auth-api/test/support/start-app.ts'
import { describeFactors, removeAccountFactors, resealFactors } from '../accounts/account-factors.ts'
import type { AdminContext } from '../admin-context.ts'

let app: TestApp
const told: string[] = []
let context: AdminContext
beforeAll(async () => {
  app = await startApp({ settings: factorSettings() })
  context = {
    db: app.database.db,
    policy: DEFAULT_POLICY,
    hashPassword: async (password) => password,
    acceptedSchemes: ['sha1'],
    localNow: Date.now,
    notify: async (_transaction, { username }, { template }) => void told.push(`${username} ${template}`),
  }
})
afterAll(() => app[Symbol.asyncDispose]())

it('removes every factor of a user who lost them, with the reason, the tokens and a mail', async () => {
  const user = await aUser(app)
  const { token, recoveryCodes } = await enrolUser(app, user, Date.now())
  const challenge = await challengeOf(app, user)
  const factors = createFactorRepository(app.database.db)
  const found = await factors.find(user.userid)
  expect(describeFactors(found, 10)).toMatch(/^kind .*\ntotp .*\nRecovery codes left: 10$/)
  for (const reason of ['', '  ', 'x'.repeat(101), 'two\nlines'])
    await expect(removeAccountFactors(context, user.username, reason)).rejects.toThrow(
      'No factor was removed',
    )
  expect((await logIn(app, user.email)).statusCode).toBe(403)

  await removeAccountFactors(context, user.email, 'lost phone, ticket 4711')
  expect((await logIn(app, user.email)).statusCode).toBe(200)
  expect((await answer(app, challenge, recoveryCodes[0] ?? '')).statusCode, 'a challenge of before').toBe(422)
  const profile = await app.server.inject({ url: '/profile', headers: bearer(token) })
  expect(profile.statusCode, 'a token of before').toBe(401)
  expect([await factors.find(user.userid), await factors.findCodes(user.userid)]).toEqual([[], []])
  const [event] = await createAuditRepository(app.database.db).findNewest(user.userid, 1)
  expect(event).toMatchObject({ name: 'factors.removed', reason: 'lost phone, ticket 4711' })
  expect(told).toEqual([`${user.username} factor-removed`])
  await expect(removeAccountFactors(context, user.email, 'again')).rejects.toThrow('has no second factor')
})

it('seals everything again for the next FACTOR_SECRET, so that the previous one can be removed', async () => {
  const [user, other] = [await aUser(app), await aUser(app)]
  const enrolled = [await enrolUser(app, user, Date.now()), await enrolUser(app, other, Date.now())]
  const { secret: previousSecret = new Uint8Array() } = app.config.secondFactor
  const next = randomBytes(32)
  const FACTOR_SECRET = next.toString('base64')
  const FACTOR_SECRET_PREVIOUS = Buffer.from(previousSecret).toString('base64')
  const logInBy = async (settings: Record<string, string>, code: string, challenge?: string) => {
    await using rotated = await startApp({ database: app.database, settings: factorSettings(settings) })
    rotated.setClock(Date.now() + 30_000)
    return (await answer(rotated, challenge ?? (await challengeOf(rotated, user)), code)).statusCode
  }
  const [first = '', second = '', third = '', fourth = ''] = enrolled[0]?.recoveryCodes ?? []
  expect(await logInBy({ FACTOR_SECRET }, first), 'without the previous one').toBe(422)
  expect(await logInBy({ FACTOR_SECRET, FACTOR_SECRET_PREVIOUS }, first), 'during a rotation').toBe(200)
  const before = await challengeOf(app, user)
  expect(await logInBy({ FACTOR_SECRET }, fourth, before), 'a challenge of before').toBe(422)
  expect(await logInBy({ FACTOR_SECRET, FACTOR_SECRET_PREVIOUS }, fourth, before)).toBe(200)

  const furtherKind = await aFactorOfAnotherKind(user, previousSecret)
  const secrets = { secret: next, previousSecret }
  const lost = await resealFactors(context, { secret: next, previousSecret: undefined })
  expect(lost.lost).toBeGreaterThan(0)
  expect(await resealFactors(context, secrets)).toEqual({ resealed: lost.lost, lost: 0 })
  expect(await resealFactors(context, secrets), 'again').toEqual({ resealed: 0, lost: 0 })
  const factors = await createFactorRepository(app.database.db).find(user.userid)
  const data = factors.find(({ id }) => id === furtherKind)?.data ?? ''
  expect(await createFactorSealer(next, undefined).open(data)).toBe('secret')
  expect(await logInBy({ FACTOR_SECRET }, second)).toBe(200)
  expect(await logInBy({ FACTOR_SECRET }, codeAt(enrolled[0]?.secret ?? '', Date.now() + 30_000))).toBe(200)
  expect(await logInBy({ FACTOR_SECRET: FACTOR_SECRET_PREVIOUS }, third)).toBe(422)
})

/** Adds a factor of a kind that Latchkey does not have, whose data a secret has sealed; and one whose data is not sealed. */
async function aFactorOfAnotherKind({ userid }: TestUser, secret: Uint8Array): Promise<string> {
  const factors = createFactorRepository(app.database.db)
  const [id, plain] = [randomUUID(), randomUUID()]
  const data = await createFactorSealer(secret, undefined).seal('secret')
  await factors.insert({ id, userid, kind: 'pin', name: undefined, data }, new Date())
  await factors.insert({ id: plain, userid, kind: 'passkey', name: undefined, data: '{}' }, new Date())
  return id
}
