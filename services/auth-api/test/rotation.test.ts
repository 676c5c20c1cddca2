import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { aToken, aUser, bearer, startApp, type TestApp } from './support/start-app.ts'
import { createTestDatabase } from './support/test-database.ts'

const [OLD, NEW] = [randomBytes(64).toString('base64'), randomBytes(64).toString('base64')]
/** What docs/operations.md does to a cluster, whose replicas restart one by one. */
const STEPS = [
  { JWT_SECRET: OLD },
  { JWT_SECRET: OLD, JWT_SECRET_PREVIOUS: NEW },
  { JWT_SECRET: NEW, JWT_SECRET_PREVIOUS: OLD },
  { JWT_SECRET: NEW },
]

describe('rotating JWT_SECRET in three steps', () => {
  it('leaves no moment at which one replica refuses what another one issues', async () => {
    await using database = await createTestDatabase()
    await using replicas = new AsyncDisposableStack()
    const apps: TestApp[] = []
    for (const settings of STEPS) apps.push(replicas.use(await startApp({ settings, database })))
    const [first] = apps
    if (!first) throw new Error('no replica')
    const user = await aUser(first)
    const accepts = async ({ server }: TestApp, token: string) =>
      (await server.inject({ url: '/sampleprotected/ping', headers: bearer(token) })).statusCode

    for (const [index, app] of apps.entries()) {
      const token = await aToken(app, user)
      const neighbours = apps.slice(Math.max(0, index - 1), index + 2)
      expect(await Promise.all(neighbours.map((each) => accepts(each, token)))).toEqual(
        neighbours.map(() => 200),
      )
    }
    const oldToken = await aToken(first, user)
    expect(await Promise.all(apps.map((app) => accepts(app, oldToken)))).toEqual([200, 200, 200, 401])
  })
})
