import { describe, expect, it } from 'vitest'
import { createPasswordHasher } from './password-hasher.ts'

describe('the queue of hashes', () => {
  it.each([
    { concurrency: 1, queueLimit: 0 },
    { concurrency: 2, queueLimit: 0 },
    { concurrency: 1, queueLimit: 2 },
  ])('accepts as many calls as it has threads and places, and refuses the next: %o', async (options) => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', ...options })
    try {
      const taken = options.concurrency + options.queueLimit
      for (const round of ['while the threads start', 'when they run']) {
        const calls = Array.from({ length: taken + 1 }, () => passwords.hash('c0rrect-Horse!'))
        expect(await outcomesOf(calls), round).toEqual([...Array(taken).fill('hashed'), 'overloaded'])
      }
      expect(await passwords.hash('c0rrect-Horse!'), 'afterwards').toMatch(/^\$argon2id\$/)
    } finally {
      await passwords.close()
    }
  })

  it('refuses what waits when it is closed, as when it is full', async () => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 3 })
    await passwords.hash('c0rrect-Horse!')
    const calls = Array.from({ length: 4 }, () => passwords.hash('c0rrect-Horse!'))
    const closing = passwords.close()
    calls.push(passwords.hash('c0rrect-Horse!'))
    const [first, ...others] = await outcomesOf(calls)
    expect(['hashed', 'overloaded']).toContain(first)
    expect(others).toEqual(Array(4).fill('overloaded'))
    await closing
  })
})

/** Of each call `hashed`, or the code of its error. */
const outcomesOf = (calls: Promise<string>[]): Promise<string[]> =>
  Promise.all(
    calls.map((call) =>
      call.then(
        () => 'hashed',
        (error) => error.code ?? error.name,
      ),
    ),
  )
