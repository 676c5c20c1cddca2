import { describe, expect, it, vi } from 'vitest'
import { argon2id } from './argon2.ts'
import { createPasswordHasher } from './password-hasher.ts'
import { sha1 } from './sha1.ts'

const PASSWORD = 'c0rrect-Horse!'
const STORED = sha1.hash(PASSWORD)

describe('the queue of hashes', () => {
  it.each([
    { concurrency: 1, queueLimit: 0 },
    { concurrency: 2, queueLimit: 0 },
    { concurrency: 1, queueLimit: 2 },
  ])('accepts as many calls as it has threads and places, and refuses the next: %o', async (options) => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', ...options })
    try {
      const taken = options.concurrency + options.queueLimit
      for (const round of ['while the library is loaded', 'when it is loaded']) {
        const calls = Array.from({ length: taken + 1 }, () => passwords.hash('c0rrect-Horse!'))
        expect(await outcomesOf(calls), round).toEqual([...Array(taken).fill('hashed'), 'overloaded'])
      }
      expect(await passwords.hash('c0rrect-Horse!'), 'afterwards').toMatch(/^\$argon2id\$/)
    } finally {
      await passwords.close()
    }
  })

  it('hashes nothing for a client that has left when its turn comes', async () => {
    const onStarted = vi.fn()
    const passwords = createPasswordHasher({
      scheme: 'argon2id',
      concurrency: 1,
      queueLimit: 4,
      onStarted,
    })
    const client = { address: '192.0.2.1', trust: 'other' } as const
    const left = vi.fn(() => true)
    const calls = [{}, { hasLeft: left }, { hasLeft: () => false }, { hasLeft: left }].map((rest) =>
      passwords.hash('c0rrect-Horse!', { ...client, ...rest }),
    )
    expect(left, 'before its turn').not.toHaveBeenCalled()
    expect(await outcomesOf(calls)).toEqual(['hashed', 'overloaded', 'hashed', 'overloaded'])
    expect(onStarted).toHaveBeenCalledTimes(2)
    expect(passwords.usage()).toEqual({ running: 0, waiting: 0 })
    await passwords.close()
  })

  it('refuses in advance a call that it would refuse', async () => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 1 })
    const client = { address: '192.0.2.1', trust: 'other' } as const
    const hash = () => passwords.hash('c0rrect-Horse!', client)
    const ask = () => passwords.requireRoom(client)
    const overloaded = expect.objectContaining({ code: 'overloaded' })
    expect(ask, 'while it is idle').not.toThrow()
    const running = hash()
    expect(ask, 'with a place in the queue').not.toThrow()
    const waiting = hash()
    expect(ask, 'without a place').toThrow(overloaded)
    expect(passwords.requireRoom({ ...client, trust: 'known' }), 'of a known client').toBeUndefined()
    await Promise.all([running, waiting])
    expect(ask, 'afterwards').not.toThrow()
    await passwords.close()
    expect(ask, 'once it is closed').toThrow(overloaded)
  })

  it('refuses an account with many successful logins for one with fewer, whatever their wrong passwords', async () => {
    const passwords = createPasswordHasher({ scheme: 'sha1', concurrency: 1, queueLimit: 1 })
    const logIn = (account: string, password: string) =>
      passwords.verify(password, STORED, { address: crypto.randomUUID(), account, trust: 'known' })
    await logIn('eve', PASSWORD)
    await logIn('bob', 'guess')
    const logins = ['carol', 'eve', 'bob'].map((account) => logIn(account, PASSWORD))
    expect(await outcomesOf(logins)).toEqual(['hashed', 'overloaded', 'hashed'])
    await passwords.close()
  })

  it('refuses what waits when it is closed, as when it is full, and ends what runs', async () => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 3 })
    await passwords.hash('c0rrect-Horse!')
    const calls = Array.from({ length: 4 }, () => passwords.hash('c0rrect-Horse!'))
    const closing = passwords.close()
    calls.push(passwords.hash('c0rrect-Horse!'))
    const outcomes = outcomesOf(calls)
    await closing
    expect(passwords.usage()).toEqual({ running: 0, waiting: 0 })
    const [first, ...others] = await outcomes
    expect(first).toBe('hashed')
    expect(others).toEqual(Array(4).fill('overloaded'))
  })
})

describe('a cheap scheme', async () => {
  const open = () => createPasswordHasher({ scheme: 'sha1', concurrency: 1, queueLimit: 0 })

  it('verifies the right password at once, without a native library', async () => {
    const passwords = open()
    const load = vi.spyOn(argon2id, 'verify')
    expect(await passwords.verify(PASSWORD, STORED)).toEqual({ matches: true })
    expect(load).not.toHaveBeenCalled()
    load.mockRestore()
    await passwords.close()
  })

  it.each([
    { what: 'a wrong password', password: 'guess', stored: STORED },
    { what: 'an unknown user', password: 'guess', stored: undefined },
    { what: 'a hash of another scheme', password: 'guess', stored: await argon2id.hash(PASSWORD) },
    { what: 'a hash of no scheme', password: 'guess', stored: 'x' },
  ])('costs one verification of it for $what', async ({ password, stored }) => {
    const passwords = open()
    const here = vi.spyOn(sha1, 'verify')
    expect(await passwords.verify(password, stored)).toMatchObject({ matches: false })
    expect(here).toHaveBeenCalledTimes(1)
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

  it('is replaced by a hash of another scheme', async () => {
    const passwords = createPasswordHasher({ scheme: 'argon2id', concurrency: 1, queueLimit: 0 })
    expect(await passwords.verify(PASSWORD, STORED)).toEqual({
      matches: true,
      rehashed: expect.stringMatching(/^\$argon2id\$/),
    })
    await passwords.close()
  })
})

/** `hashed`, or the code of the error, for each call. */
const outcomesOf = (calls: Promise<unknown>[]): Promise<string[]> =>
  Promise.all(
    calls.map((call) =>
      call.then(
        () => 'hashed',
        (error) => error.code ?? error.name,
      ),
    ),
  )
