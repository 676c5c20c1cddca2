import { describe, expect, it } from 'vitest'
import { findSchemeName, getScheme, PASSWORD_SCHEMES } from './schemes.ts'
import { PHP_HASHES } from './test/php-hashes.ts'
import { verifyStored } from './verify-stored.ts'

const PASSWORD = 'c0rrect-Horse!'
const ALL = Object.keys(PASSWORD_SCHEMES)

const verify = (
  password: string,
  stored: string | undefined,
  scheme = 'argon2id',
  accepted: readonly string[] = ALL,
) => verifyStored(password, stored, { scheme, accepted })

describe('a hash of PHP', () => {
  const hashes = PHP_HASHES.flatMap(({ password, hashes }) =>
    Object.entries(hashes).map(([scheme, stored]) => ({ password, scheme, stored })),
  )

  it.each(hashes)('by $scheme matches only $password', async ({ password, scheme, stored }) => {
    // Our argon2id is of the normal form.
    const isDecomposed = password !== password.normalize('NFC')
    const matches = !(isDecomposed && scheme === 'argon2id')
    expect(await verify(password, stored, 'sha1', [scheme])).toMatchObject({ matches })
    // Without the rest of a refusal, which for bcrypt is the work of 4096 rounds for each spelling.
    expect(await getScheme(scheme).verify(`${password}x`, stored)).toBe(false)
  })

  it.each(hashes.filter(({ password }) => password === PASSWORD))(
    'by $scheme refuses another password, and is replaced',
    async ({ scheme, stored }) => {
      expect(await verify(`${PASSWORD}x`, stored, 'sha1', [scheme])).toEqual({ matches: false })
      expect(await verify(PASSWORD, stored)).toEqual({
        matches: true,
        rehashed: expect.stringMatching(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/),
      })
      const others = ALL.filter((name) => name !== scheme)
      expect(await verify(PASSWORD, stored, others[0], others.slice(0, 1))).toEqual({
        matches: false,
        unusable: `is ${scheme}, which PASSWORD_HASH_ACCEPTED does not name`,
      })
    },
  )

  it.each(['2y', '2b', '2a'])('by bcrypt may begin with $%s$', async (prefix) => {
    const stored = PHP_HASHES[0].hashes.bcrypt.replace('2y', prefix)
    expect(await verify(PASSWORD, stored, 'sha1', ['bcrypt'])).toMatchObject({ matches: true })
  })
})

describe('a hash of Latchkey', () => {
  it.each(ALL)('by %s is kept', async (scheme) => {
    const stored = await getScheme(scheme).hash(PASSWORD)
    expect(await verify(PASSWORD, stored, scheme, [scheme])).toEqual({ matches: true })
    expect(getScheme(scheme).findFault(stored)).toBeUndefined()
  })
})

it('a hash by bcrypt of a lower cost is replaced', async () => {
  const stored = '$2y$04$nQSebaF0EPF.xAsmhSF/j.ovip.PsvnFIO4GNEYiJO9qBFAcZw7cO'
  expect(await verify(PASSWORD, stored, 'bcrypt', ['bcrypt'])).toEqual({
    matches: true,
    rehashed: expect.stringMatching(/^\$2y\$12\$/),
  })
})

describe('a stored hash that costs too much, or is not whole', () => {
  const salt = 'A'.repeat(22)
  const tag = 'A'.repeat(43)
  it.each([
    [`$2y$31$${'.'.repeat(53)}`, 'has the bcrypt cost 31, and it must be from 4 to 14'],
    [`$2y$15$${'.'.repeat(53)}`, 'has the bcrypt cost 15, and it must be from 4 to 14'],
    [`$2y$03$${'.'.repeat(53)}`, 'has the bcrypt cost 3, and it must be from 4 to 14'],
    [`$2y$+4$${'.'.repeat(53)}`, 'is not a whole bcrypt hash'],
    [`$2y$10$${'.'.repeat(52)}`, 'is not a whole bcrypt hash'],
    [`$2x$10$${'.'.repeat(53)}`, 'has no known scheme'],
    [
      `$argon2i$v=19$m=4194304,t=4,p=1$${salt}$${tag}`,
      'has argon2i parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=4194304,t=1,p=1$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=262144,t=11,p=1$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=1024,t=0,p=1$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=1024,t=1,p=17$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=7,t=1,p=1$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=1024,t=1,p=0$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [
      `$argon2id$v=19$m=31,t=1,p=4$${salt}$${tag}`,
      'has argon2id parameters out of bounds: at most m=262144, t=10',
    ],
    [`$argon2id$v=19$m=19456,t=2,p=1$${salt}$`, 'is not a whole argon2id PHC string'],
    ['5f4dcc3b5aa765d61d8327deb882cf99', 'has no known scheme'],
    ['5baa61e4c9b93f3f0682250b6cf8331b7ee68fd80', 'has no known scheme'],
    ['', 'has no known scheme'],
  ])('%s %s', (stored, fault) => {
    const scheme = findSchemeName(stored)
    expect(scheme ? getScheme(scheme).findFault(stored) : 'has no known scheme').toBe(fault)
  })

  it.each([
    { stored: `$2y$31$${'.'.repeat(53)}`, accepted: ['bcrypt'] },
    { stored: `$argon2i$v=19$m=4194304,t=4,p=1$${salt}$${tag}`, accepted: ['argon2i'] },
    { stored: `$argon2id$v=19$m=4194304,t=4,p=1$${salt}$${tag}`, accepted: ['argon2id'] },
  ])('$stored is not verified', async ({ stored, accepted }) => {
    expect(await verify(PASSWORD, stored, accepted[0], accepted)).toEqual({
      matches: false,
      unusable: expect.stringMatching(/^has .*must be|out of bounds/),
    })
  })

  it.each([
    `$2y$14$${'.'.repeat(53)}`,
    `$argon2i$v=19$m=262144,t=10,p=16$${salt}$${tag}`,
    `$argon2id$v=19$m=8,t=1,p=1$${salt}$${tag}`,
  ])('is not %s', (stored) => {
    const scheme = Object.values(PASSWORD_SCHEMES).find(({ recognises }) => recognises(stored))
    expect(scheme?.findFault(stored)).toBeUndefined()
  })
})
