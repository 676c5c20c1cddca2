import { describe, expect, it, vi } from 'vitest'
import { argon2id } from './argon2.ts'
import { createPasswordHasher } from './password-hasher.ts'
import { sha1 } from './sha1.ts'

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

describe('a cheap scheme', () => {
  const PASSWORD = 'c0rrect-Horse!'
  const STORED = sha1.hash(PASSWORD)
  const open = () => createPasswordHasher({ scheme: 'sha1', concurrency: 1, queueLimit: 0 })

  it('verifies the right password without a thread', async () => {
    const passwords = open()
    const verified = passwords.verify(PASSWORD, STORED)
    expect(passwords.usage()).toEqual({ running: 0, waiting: 0 })
    expect(await verified).toEqual({ matches: true })
    await passwords.close()
  })

  it.each([
    { what: 'a wrong password', password: 'guess', stored: STORED },
    { what: 'an unknown user', password: 'guess', stored: undefined },
    { what: 'a hash of another scheme', password: 'guess', stored: argon2id.hash(PASSWORD) },
    { what: 'a hash of no scheme', password: 'guess', stored: 'x' },
  ])('does the same work here for $what, and the rest in a thread', async ({ password, stored }) => {
    const passwords = open()
    const here = vi.spyOn(sha1, 'verify')
    const verified = passwords.verify(password, stored)
    expect(here).toHaveBeenCalledTimes(1)
    expect(passwords.usage()).toEqual({ running: 1, waiting: 0 })
    expect(await verified).toMatchObject({ matches: false })
    here.mockRestore()
    await passwords.close()
  })

  it('compares no password of a call that may be refused uncounted', async () => {
    const passwords = open()
    const here = vi.spyOn(sha1, 'verify')
    const busy = passwords.hash(PASSWORD)
    const outcomes = outcomesOf([PASSWORD, 'guess'].map((password) => passwords.verify(password, STORED)))
    expect(here).not.toHaveBeenCalled()
    expect(await outcomes).toEqual(['overloaded', 'overloaded'])
    await busy
    await passwords.close()
    expect(await outcomesOf([passwords.verify(PASSWORD, STORED)])).toEqual(['overloaded'])
    here.mockRestore()
  })

  it('is verified by a thread where another scheme replaces it', async () => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 0 })
    expect(await passwords.verify(PASSWORD, STORED)).toEqual({
      matches: true,
      rehashed: expect.stringMatching(/^\$argon2id\$/),
    })
    await passwords.close()
  })
})

/** Of each call `hashed`, or the code of its error. */
const outcomesOf = (calls: Promise<unknown>[]): Promise<string[]> =>
  Promise.all(
    calls.map((call) =>
      call.then(
        () => 'hashed',
        (error) => error.code ?? error.name,
      ),
    ),
  )
