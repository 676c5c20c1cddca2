import { hash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import {
  bearerSessions,
  expectNothingLost,
  expectThiefFound,
  lastingSessions,
  type SessionKind,
} from './lossy-clients.ts'
import { startReplicas } from './replicas.ts'
import { modelOptions } from './run-model.ts'

const options = modelOptions(25, 25)
const PASSWORD = 'c0rrect-Horse!'

const KINDS = [
  { name: 'an access token alone', create: bearerSessions },
  { name: 'a refresh token', create: lastingSessions },
] as { name: string; create: (...given: Parameters<typeof bearerSessions>) => SessionKind<unknown> }[]

describe.each(KINDS)('a session with $name', ({ create }) => {
  async function startSessions() {
    const replicas = await startReplicas({ settings: { SESSION_LIFETIME: '0' } })
    const user = { username: 'ada', email: 'ada@example.com', name: 'Ada', role: 'user' }
    await replicas.users.insert({ ...user, passwordHash: hash('sha1', PASSWORD) })
    const kind = create(replicas, { username: user.email, password: PASSWORD })
    return { replicas, kind, [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose]() }
  }

  it(`is not lost unless it was stolen, whatever the network loses: TEST_SEED=${options.seed}`, async () => {
    await using started = await startSessions()
    await expect(expectNothingLost(started.replicas, started.kind, options)).resolves.toBeUndefined()
  })

  it(`is ended by a thief who refreshes: TEST_SEED=${options.seed}`, async () => {
    await using started = await startSessions()
    await expect(expectThiefFound(started.replicas, started.kind, options)).resolves.toBeUndefined()
  })
})
