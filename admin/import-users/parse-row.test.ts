import { DEFAULT_POLICY } from '@latchkey/shared/passwords/test/default-policy.ts'
import { PHP_HASHES } from '@latchkey/shared/passwords/test/php-hashes.ts'
import { expect, it } from 'vitest'
import { parseColumns } from './columns.ts'
import { parseRow } from './parse-row.ts'

const columns = parseColumns(['username', 'email', 'password_hash'])
const [{ hashes }] = PHP_HASHES

const parse = (hash: string, acceptedSchemes: readonly string[]) =>
  parseRow(
    { line: 2, cells: ['ada', 'ada@example.com', hash] },
    { columns, policy: DEFAULT_POLICY, acceptedSchemes, sealsFactors: false, now: 0 },
  )

it.each(Object.entries(hashes))(
  'takes a hash of %s where a login accepts it, and refuses it elsewhere',
  (scheme, hash) => {
    expect(parse(hash, [scheme])).toMatchObject({ secret: { hash } })
    expect(parse(hash, [])).toEqual([
      {
        field: 'password_hash',
        reason: `is ${scheme}, with which no login succeeds until PASSWORD_HASH_ACCEPTED names it`,
      },
    ])
  },
)

it('stores SHA-1 in lower case, and no other hash', () => {
  expect(parse(hashes.sha1.toUpperCase(), ['sha1'])).toMatchObject({ secret: { hash: hashes.sha1 } })
  expect(parse(hashes.bcrypt, ['bcrypt'])).toMatchObject({ secret: { hash: hashes.bcrypt } })
})

it('takes a user who has to reset the password', () => {
  expect(parse('!', [])).toMatchObject({ secret: { hash: '!' } })
})

it.each([
  [hashes.bcrypt.replace('$04$', '$31$'), 'has the bcrypt cost 31, and it must be from 4 to 14'],
  [
    '5f4dcc3b5aa765d61d8327deb882cf99',
    'must be SHA-1 as 40 hexadecimal digits, an argon2id PHC string, a bcrypt hash ($2y$, $2b$ or $2a$), an argon2i PHC string, or ! for a user who has to reset the password',
  ],
])('refuses %s', (hash, reason) => {
  expect(parse(hash, ['bcrypt'])).toEqual([{ field: 'password_hash', reason }])
})
