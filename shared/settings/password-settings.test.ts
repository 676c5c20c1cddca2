import { describe, expect, it } from 'vitest'
import { declareConfig } from './declare-config.ts'
import { acceptedSchemes, hashScheme, refuseSmallPool } from './password-settings.ts'
import { collectFaults } from './settings-error.ts'

const parse = declareConfig('auth-api', { scheme: hashScheme, accepted: acceptedSchemes })
const settings = (PASSWORD_HASH: string, PASSWORD_HASH_SHARED: string) => ({
  PASSWORD_HASH,
  PASSWORD_HASH_ACCEPTED: 'argon2id',
  PASSWORD_HASH_SHARED,
})

describe('the scheme of new hashes', () => {
  it.each(['', 'sha1', 'argon2id,sha1'])('may be one that another system verifies, of %j', (shared) => {
    expect(parse(settings('sha1', shared)).scheme).toBe('sha1')
  })

  it('is none that another system cannot verify', () => {
    expect(collectFaults(() => parse(settings('argon2id', 'sha1')))).toEqual([
      'PASSWORD_HASH is none of PASSWORD_HASH_SHARED: the other system cannot verify its hashes, and a login here would lock the user out there. Set it to one of them; after the switch, remove PASSWORD_HASH_SHARED instead',
    ])
  })
})

it('derives no scheme from one of two settings when the other cannot be used', () => {
  expect(collectFaults(() => parse(settings('rot13', 'sha1')))).toEqual([
    expect.stringMatching(/^PASSWORD_HASH must be /),
  ])
})

it('accepts the schemes that either system writes, each once', () => {
  expect(parse(settings('sha1', 'sha1,argon2id')).accepted).toEqual(['argon2id', 'sha1'])
  expect(parse.names).toEqual(['PASSWORD_HASH', 'PASSWORD_HASH_SHARED', 'PASSWORD_HASH_ACCEPTED'])
})

describe("libuv's pool", () => {
  it('may have one thread more than there are hashes at the same time', () => {
    expect(collectFaults(() => refuseSmallPool(4, 5))).toEqual([])
  })

  it('may not be used up by hashes', () => {
    expect(collectFaults(() => refuseSmallPool(5, 5))).toEqual([
      "HASH_CONCURRENCY must be less than the threads of libuv's pool, which are 5. Set UV_THREADPOOL_SIZE=6 in the environment of the process",
    ])
  })
})
