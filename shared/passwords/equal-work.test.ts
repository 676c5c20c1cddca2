import { afterEach, expect, it, vi } from 'vitest'
import { runHashTask } from './hash-task.ts'

const work = vi.hoisted(() => ({ bcrypt: 0, argon2: [] as string[] }))

vi.mock('@node-rs/bcrypt', () => ({
  async verify(_: string, stored: string) {
    work.bcrypt += 2 ** Number(stored.slice(4, 6))
    return false
  },
}))
vi.mock('@node-rs/argon2', () => ({
  async verify(stored: string) {
    work.argon2.push(stored.split('$').slice(1, 4).join(' '))
    return false
  },
}))

afterEach(() => Object.assign(work, { bcrypt: 0, argon2: [] }))

const refuse = async (stored: string | undefined, accepted: readonly string[], password = 'guess') => {
  await runHashTask({ kind: 'verify', scheme: 'argon2id', accepted, password, stored })
  return { bcrypt: work.bcrypt, argon2: work.argon2.sort() }
}

const ALL = ['sha1', 'argon2id', 'bcrypt', 'argon2i']
const PHC = `${'A'.repeat(22)}$${'A'.repeat(43)}`
const EVERYTHING = {
  bcrypt: 2 ** 12,
  argon2: ['argon2i v=19 m=65536,t=4,p=1', 'argon2id v=19 m=19456,t=2,p=1'],
}

const STORED: [what: string, stored: string | undefined][] = [
  ['an unknown user', undefined],
  ['SHA-1', 'a'.repeat(40)],
  ['argon2id', `$argon2id$v=19$m=19456,t=2,p=1$${PHC}`],
  ['argon2i', `$argon2i$v=19$m=65536,t=4,p=1$${PHC}`],
  ...[4, 10, 11, 12].map((cost): [string, string] => [
    `bcrypt of cost ${cost}`,
    `$2y$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`,
  ]),
  ['a hash that cannot be used', `$2y$31$${'.'.repeat(53)}`],
  ['a hash of no scheme', 'x'],
]

it.each(STORED)('a refusal does the work of every accepted scheme for %s', async (_, stored) => {
  expect(await refuse(stored, ALL)).toEqual(EVERYTHING)
})

it.each([undefined, `$2y$10$${'.'.repeat(53)}`])(
  'a refusal of %s does none of a scheme that is not accepted',
  async (stored) => {
    expect(await refuse(stored, ['sha1', 'argon2id'])).toEqual({
      bcrypt: 0,
      argon2: EVERYTHING.argon2.slice(1),
    })
  },
)

it('a refusal of a hash that costs more than new ones costs more', async () => {
  expect(await refuse(`$2y$14$${'.'.repeat(53)}`, ALL)).toMatchObject({ bcrypt: 2 ** 14 })
})
