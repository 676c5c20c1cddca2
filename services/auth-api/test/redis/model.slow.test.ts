import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { expect, it } from 'vitest'
import { startReplicas } from '../model/replicas.ts'
import { modelOptions, runModel } from '../model/run-model.ts'

const options = modelOptions(10, 40)

it(`keeps the limits of two replicas in agreement with the model: TEST_SEED=${options.seed}`, async () => {
  await using replicas = await startReplicas({
    redisUrl: await sharedServer('redis'),
    emailChange: 'confirmed',
  })
  await expect(runModel(replicas, options)).resolves.toBeUndefined()
})
