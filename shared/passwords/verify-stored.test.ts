import bcryptLibrary from '@node-rs/bcrypt'
import { expect, it, onTestFinished, vi } from 'vitest'
import { NO_PASSWORD } from '../users/user.ts'
import { getScheme } from './schemes.ts'
import { sha1 } from './sha1.ts'
import { verifyStored } from './verify-stored.ts'

const SALT = '.'.repeat(22)
const TAG = '.'.repeat(31)
const bcryptOf = (cost: string) => `$2y$${cost}$${SALT}${TAG}`
const argon2Of = (name: string, costs: string) => `$${name}$v=19$${costs}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/** The cost of the verification of a hash: rounds of bcrypt, and KiB that argon2 fills, in all its passes. */
function workOf(stored: string): number {
  const [, memory, passes] = /m=(\d+),t=(\d+)/.exec(stored)?.map(Number) ?? []
  const [, cost] = /^\$2y\$(\d\d)/.exec(stored)?.map(Number) ?? []
  return cost === undefined ? (memory ?? Number.NaN) * (passes ?? Number.NaN) : 2 ** cost
}

it.each([
  { scheme: 'argon2id', current: argon2Of('argon2id', 'm=19456,t=2,p=1'), cheaper: [] },
  { scheme: 'argon2i', current: argon2Of('argon2i', 'm=65536,t=4,p=1'), cheaper: [] },
  { scheme: 'bcrypt', current: bcryptOf('12'), cheaper: ['04', '10', '11'].map(bcryptOf) },
])('a refusal by $scheme costs the same, whoever logs in', async ({ scheme, current, cheaper }) => {
  const verify = vi.spyOn(getScheme(scheme), 'verify').mockResolvedValue(false)
  onTestFinished(() => verify.mockRestore())
  const refusals = {
    'an unknown user': undefined,
    'a hash of another scheme': sha1.hash('c0rrect-Horse!'),
    'a hash of no scheme': 'x',
    'a hash that costs too much': `$2y$31$${SALT}${TAG}`,
    'a wrong password': current,
    ...Object.fromEntries(cheaper.map((stored) => [stored, stored])),
  }
  for (const [what, stored] of Object.entries(refusals)) {
    verify.mockClear()
    const refused = await verifyStored('guess', stored, { scheme, accepted: [scheme] })
    expect(refused, what).toMatchObject({ matches: false })
    const verified = verify.mock.calls.map(([, hash]) => hash)
    const faults = verified.map((hash) => getScheme(scheme).findFault(hash))
    expect(faults, `each is verified, for ${what}`).toEqual(verified.map(() => undefined))
    const work = verified.reduce((sum, hash) => sum + workOf(hash), 0)
    expect(work, what).toBe(workOf(current))
  }
})

it('a refusal costs a verification by each scheme that is accepted', async () => {
  const accepted = ['sha1', 'argon2id', 'bcrypt']
  const spies = accepted.map((name) => vi.spyOn(getScheme(name), 'verify').mockReturnValue(false))
  onTestFinished(() => void vi.restoreAllMocks())
  for (const stored of [
    undefined,
    sha1.hash('other'),
    argon2Of('argon2id', 'm=19456,t=2,p=1'),
    bcryptOf('12'),
  ]) {
    for (const spy of spies) spy.mockClear()
    await verifyStored('guess', stored, { scheme: 'argon2id', accepted })
    expect(
      spies.map((spy) => spy.mock.calls.length),
      stored,
    ).toEqual([1, 1, 1])
  }
})

it.each([
  { what: 'an unknown user', stored: undefined, refusal: { matches: false } },
  { what: 'an account without a password', stored: NO_PASSWORD, refusal: { matches: false } },
  { what: 'text', stored: 'x', refusal: { matches: false, unusable: 'has no known scheme' } },
])('says of $what whether its hash is at fault', async ({ stored, refusal }) => {
  expect(await verifyStored('x', stored, { scheme: 'sha1', accepted: ['sha1'] })).toEqual(refusal)
})

it.each([
  { what: 'another scheme', stored: (password: string) => sha1.hash(password), scheme: 'bcrypt' },
  {
    what: 'bcrypt with a lower cost',
    stored: async (password: string) => `$2y${(await bcryptLibrary.hash(password, 4)).slice(3)}`,
    scheme: 'bcrypt',
  },
])(
  'a hash by $what is replaced by one of bcrypt, unless that would leave out its end',
  async ({ stored, scheme }) => {
    const whole = 'Aq7!kP9-'.repeat(9)
    const options = { scheme, accepted: [scheme, 'sha1'] }
    expect(await verifyStored(whole, await stored(whole), options)).toHaveProperty('rehashed')
    const long = `${whole}tail`
    expect(await verifyStored(long, await stored(long), options)).toEqual({ matches: true })
  },
)

it('a hash that another program made of the first 72 bytes verifies the whole password', async () => {
  const long = `${'Aq7!kP9-'.repeat(9)}tail`
  const stored = await bcryptLibrary.hash(long, 12)
  expect(await verifyStored(long, stored, { scheme: 'bcrypt', accepted: ['bcrypt'] })).toEqual({
    matches: true,
  })
})
