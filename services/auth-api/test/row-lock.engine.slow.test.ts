import { setTimeout as wait } from 'node:timers/promises'
import { withRowLock } from '@latchkey/shared/database/mysql/row-lock.ts'
import { isPostgres } from '@latchkey/test-support/engine.ts'
import { createEmptyDatabase } from '@latchkey/test-support/test-database.ts'
import { expect, it } from 'vitest'

/** Shorter than that of migrations. */
const PACE = { beatMs: 200, silenceMs: 3_000 }

it.skipIf(isPostgres())('a migration that takes longer than its lock would last keeps it', async () => {
  await using database = await createEmptyDatabase()
  const { db } = database
  const order: string[] = []
  const slow = withRowLock(
    db,
    'test',
    async () => {
      order.push('slow begins')
      await wait(2 * PACE.silenceMs)
      order.push('slow ends')
    },
    PACE,
  )
  await expect.poll(() => order).toEqual(['slow begins'])
  await withRowLock(db, 'test', async () => order.push('next'), PACE)
  await slow
  expect(order).toEqual(['slow begins', 'slow ends', 'next'])
})
