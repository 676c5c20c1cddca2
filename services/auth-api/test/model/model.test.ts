import { expect, it } from 'vitest'
import { startReplicas } from './replicas.ts'
import { modelOptions, runModel } from './run-model.ts'

const options = modelOptions(40, 60)

it(`keeps two replicas in agreement with the model of accounts: MODEL_SEED=${options.seed}`, async () => {
  await using replicas = await startReplicas()
  await expect(runModel(replicas, options)).resolves.toBeUndefined()
})
