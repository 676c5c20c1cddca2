import { expect, it } from 'vitest'
import { LIMITS } from './limits-model.ts'
import { startReplicas } from './replicas.ts'
import { modelOptions, runModel } from './run-model.ts'

const options = modelOptions(8, 60)

it.each([
  { emailChange: 'immediate', limits: 'low' },
  { emailChange: 'confirmed', limits: 'high' },
] as const)(
  `keeps two replicas in agreement with the model of accounts, EMAIL_CHANGE=$emailChange, $limits limits: TEST_SEED=${options.seed}`,
  async ({ emailChange, limits }) => {
    await using replicas = await startReplicas({ emailChange, limits: LIMITS[limits] })
    await expect(runModel(replicas, options)).resolves.toBeUndefined()
  },
)
