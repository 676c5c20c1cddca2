import { hash } from 'node:crypto'
import { expect, it } from 'vitest'
import { bearerSessions, expectNothingLost, expectThiefFound } from './lossy-clients.ts'
import { startReplicas } from './replicas.ts'
import { modelOptions } from './run-model.ts'

const options = modelOptions(25, 25)
const PASSWORD = 'c0rrect-Horse!'

async function startSessions() {
  const replicas = await startReplicas({ settings: { SESSION_LIFETIME: '0' } })
  const user = { username: 'ada', email: 'ada@example.com', name: 'Ada', role: 'user' }
  await replicas.users.insert({ ...user, passwordHash: hash('sha1', PASSWORD) })
  const kind = bearerSessions(replicas, { username: user.email, password: PASSWORD })
  return { replicas, kind, [Symbol.asyncDispose]: () => replicas[Symbol.asyncDispose]() }
}

it(`loses no session that nobody stole, whatever the network loses: TEST_SEED=${options.seed}`, async () => {
  await using started = await startSessions()
  await expect(expectNothingLost(started.replicas, started.kind, options)).resolves.toBeUndefined()
})

it(`finds a thief who refreshes: TEST_SEED=${options.seed}`, async () => {
  await using started = await startSessions()
  await expect(expectThiefFound(started.replicas, started.kind, options)).resolves.toBeUndefined()
})
