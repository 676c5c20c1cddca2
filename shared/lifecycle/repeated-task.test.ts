import { expect, it } from 'vitest'
import { createRepeatedTask } from './repeated-task.ts'

it('logs the first failure of an outage, and its end with the number of failures', async () => {
  const outcomes = ['done', 'down', 'down', 'down', 'done', 'done', 'lost', 'done']
  const reports: unknown[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const task = createRepeatedTask({
    name: 'sweeping',
    pauseMs: 0,
    async work() {
      const outcome = outcomes.shift()
      if (outcome === undefined) return end()
      if (outcome !== 'done') throw new Error(outcome)
    },
    logger: {
      warn: (details, message) => reports.push([message, details]),
      info: (details, message) => reports.push([message, details]),
    },
  })
  task.start()
  await ended
  await task.stop()
  expect(reports).toEqual([
    ['sweeping failed', { reason: 'down' }],
    ['sweeping succeeds again', { failed: 3 }],
    ['sweeping failed', { reason: 'lost' }],
    ['sweeping succeeds again', { failed: 1 }],
  ])
})
