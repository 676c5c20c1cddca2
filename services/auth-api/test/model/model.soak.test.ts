import type { Engine } from '@latchkey/test-support/engine.ts'
import { sharedServer } from '@latchkey/test-support/servers/shared-server.ts'
import { expect, it } from 'vitest'
import { LIMITS } from './limits-model.ts'
import { startReplicas } from './replicas.ts'
import { modelOptions, runModel } from './run-model.ts'

const options = modelOptions(40, 80)
const ENGINES: Engine[] = ['postgres', 'mysql', 'mariadb']

it.each(
  ENGINES.flatMap((engine) => [
    { engine, store: 'memory', emailChange: 'immediate' as const, limits: LIMITS.low },
    { engine, store: 'Redis', emailChange: 'confirmed' as const, limits: LIMITS.high },
  ]),
)(
  `$engine, $store and $emailChange changes of e-mail agree with the model of accounts: TEST_SEED=${options.seed}`,
  async ({ engine, store, emailChange, limits }) => {
    const redisUrl = store === 'Redis' ? await sharedServer('redis') : undefined
    await using replicas = await startReplicas({
      engine,
      emailChange,
      limits,
      ...(redisUrl ? { redisUrl } : {}),
    })
    await expect(runModel(replicas, options)).resolves.toBeUndefined()
  },
)
