import { expect, it } from 'vitest'
import { startReplicas } from './replicas.ts'
import { modelOptions, runModel } from './run-model.ts'

const options = modelOptions(20, 60)

it.each(['immediate', 'confirmed'] as const)(
  `keeps two replicas in agreement with the model of accounts, EMAIL_CHANGE=%s: MODEL_SEED=${options.seed}`,
  async (emailChange) => {
    await using replicas = await startReplicas({ emailChange })
    await expect(runModel(replicas, options)).resolves.toBeUndefined()
  },
)
