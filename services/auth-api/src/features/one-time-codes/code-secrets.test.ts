import { expect, it } from 'vitest'
import { createCodeSecrets } from './code-secrets.ts'

const [SECRET, PREVIOUS] = [new Uint8Array(64), new Uint8Array(64).fill(1)]

const PURPOSES = ['reset', 'email', 'signup', 'login'] as const

it.each(PURPOSES)('hashes a code of the purpose %s for its row, and as no other purpose does', (purpose) => {
  const secrets = createCodeSecrets(purpose, [SECRET])
  const stored = secrets.hash('id', '123456')
  expect(secrets.isHashOf(stored, 'id', '123456')).toBe(true)
  expect(secrets.isHashOf(stored, 'id', '123457')).toBe(false)
  expect(secrets.isHashOf(stored, 'other', '123456')).toBe(false)
  const others = PURPOSES.filter((other) => other !== purpose)
  for (const other of others)
    expect(createCodeSecrets(other, [SECRET]).isHashOf(stored, 'id', '123456')).toBe(false)
})

it('hashes with the current secret, and knows the hashes of the previous one', () => {
  const [old, rotated] = [
    createCodeSecrets('reset', [PREVIOUS]),
    createCodeSecrets('reset', [SECRET, PREVIOUS]),
  ]
  for (const secrets of [old, rotated])
    expect(rotated.isHashOf(secrets.hash('id', '123456'), 'id', '123456')).toBe(true)
  expect(old.isHashOf(rotated.hash('id', '123456'), 'id', '123456')).toBe(false)
})

it('makes codes of six digits, tokens of 256 bits, and hashes of nothing that look like others', () => {
  const { generateCode, generateToken, hash, unmatchableHash } = createCodeSecrets('reset', [SECRET])
  // One in ten begins with a zero.
  for (let each = 0; each < 200; each++) expect(generateCode()).toMatch(/^[0-9]{6}$/)
  expect(generateToken()).toMatch(/^[\w-]{43}$/)
  for (const each of [hash('id', '123456'), unmatchableHash()]) expect(each).toMatch(/^[0-9a-f]{64}$/)
  expect(unmatchableHash()).not.toBe(unmatchableHash())
})
