import { expect, it } from 'vitest'
import { createRepeatedTask } from './repeated-task.ts'

it('reports the first failure of an outage, and its end with the number of failures', async () => {
  const outcomes = ['done', 'down', 'down', 'down', 'done', 'done', 'lost', 'done']
  const reports: unknown[] = []
  const { promise: ended, resolve: end } = Promise.withResolvers<void>()
  const task = createRepeatedTask({
    pauseMs: 0,
    async work() {
      const outcome = outcomes.shift()
      if (outcome === undefined) return end()
      if (outcome !== 'done') throw new Error(outcome)
    },
    onError: (error) => reports.push(error),
    onRecovery: (failed) => reports.push(failed),
  })
  task.start()
  await ended
  await task.stop()
  expect(reports).toEqual([new Error('down'), 3, new Error('lost'), 1])
})
