import { expect, it } from 'vitest'
import { LIMITS } from './limits-model.ts'
import { startReplicas } from './replicas.ts'
import { modelOptions, runModel } from './run-model.ts'

const options = modelOptions(2, 50)

it(`keeps two replicas in agreement with the model of accounts, for a short time: TEST_SEED=${options.seed}`, async () => {
  await using replicas = await startReplicas({ emailChange: 'confirmed', limits: LIMITS.high })
  await expect(runModel(replicas, options)).resolves.toBeUndefined()
})
