import { expect, it } from 'vitest'
import { createCodeSecrets } from './code-secrets.ts'

it('hashes one code of one row differently for each purpose', () => {
  const secret = new Uint8Array(64)
  const [reset, email] = [createCodeSecrets('reset', secret), createCodeSecrets('email', secret)]
  expect(email.hash('id', '123456')).not.toBe(reset.hash('id', '123456'))
  expect(email.isHashOf(reset.hash('id', '123456'), 'id', '123456')).toBe(false)
  expect(email.isHashOf(email.hash('id', '123456'), 'id', '123456')).toBe(true)
})
