import { setImmediate } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createAttemptQueues } from './attempt-queues.ts'

/** Attempts of one key that end when their gate opens; `begun` has those that run or have ended. */
function startAttempts() {
  const queueByKey = createAttemptQueues()
  const begun: string[] = []
  return {
    begun,
    start(name: string, atOnce?: number) {
      const gate = Promise.withResolvers<void>()
      const ended = queueByKey('key', (allowAtOnce) => {
        begun.push(name)
        if (atOnce) allowAtOnce(atOnce)
        return gate.promise
      })
      return {
        async end() {
          gate.resolve()
          await ended
          await setImmediate()
        },
      }
    },
  }
}

it('an attempt waits for those before it, also where earlier ones have ended', async () => {
  const { begun, start } = startAttempts()
  const [a, b] = [start('a'), start('b')]
  await a.end()
  const c = start('c')
  expect(begun).toEqual(['a', 'b'])
  await b.end()
  expect(begun).toEqual(['a', 'b', 'c'])
  await c.end()
})

it('as many attempts run at once as one of them allows', async () => {
  const { begun, start } = startAttempts()
  const attempts = [start('a', 2), start('b'), start('c')]
  expect(begun).toEqual(['a', 'b'])
  await Promise.all(attempts.map((each) => each.end()))
  expect(begun).toEqual(['a', 'b', 'c'])
})

it('a queue without attempts is forgotten, and what they allowed', async () => {
  const { begun, start } = startAttempts()
  await start('a', 5).end()
  const [b, c] = [start('b'), start('c')]
  expect(begun).toEqual(['a', 'b'])
  await Promise.all([b.end(), c.end()])
})
