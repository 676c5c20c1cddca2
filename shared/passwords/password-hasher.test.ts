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
        const outcomes = await Promise.all(
          calls.map((call) =>
            call.then(
              () => 'hashed',
              (error) => error.code,
            ),
          ),
        )
        expect(outcomes, round).toEqual([...Array(taken).fill('hashed'), 'overloaded'])
      }
      expect(await passwords.hash('c0rrect-Horse!'), 'afterwards').toMatch(/^\$argon2id\$/)
    } finally {
      await passwords.close()
    }
  })
})
