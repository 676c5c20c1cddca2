import { expect, it } from 'vitest'
import type { EmailChange } from '../model/replicas.ts'
import type { Engine } from '../support/engine.ts'
import { type KilledReplicas, startKilledReplicas } from './killed-replicas.ts'
import { randomUseOptions, useAtRandom } from './random-use.ts'

const options = randomUseOptions()
const RUNS: { engine: Engine; emailChange: EmailChange }[] = [
  { engine: 'postgres', emailChange: 'confirmed' },
  { engine: 'mysql', emailChange: 'immediate' },
]

it.each(RUNS)(
  `$engine has every account as its history says, whichever replica was killed: MODEL_SEED=${options.seed}`,
  async ({ engine, emailChange }) => {
    await using service = await startKilledReplicas(engine, emailChange)
    const { kills, steps } = await useAtRandom(service, options)
    console.log(
      `${engine}, EMAIL_CHANGE=${emailChange}: ${steps} steps of ${options.users} users, ${kills} kills`,
    )
    console.log(
      [...service.statuses]
        .map(([route, count]) => `${route}: ${count}`)
        .toSorted()
        .join('\n'),
    )
    expect(service.logged()).toBe('')
    expect(await operationsWithoutSuccess(service)).toEqual([])
  },
  options.seconds * 1000 + 300_000,
)

/** What the service describes, and nobody used. */
async function operationsWithoutSuccess({ send, emailChange, statuses }: KilledReplicas): Promise<string[]> {
  const { answer } = await send(0, { method: 'GET', url: '/openapi.json' })
  const paths = Object.entries(answer?.body.paths ?? {})
  const operations = paths.flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  expect(operations.length).toBeGreaterThan(10)
  const hasSuccess = (operation: string) =>
    [200, 202, 204].some((status) => statuses.has(`${operation} ${status}`)) ||
    (emailChange === 'immediate' && operation.endsWith('/confirmemail'))
  return operations.filter((operation) => !hasSuccess(operation))
}
