import { expect, it } from 'vitest'
import { findPropertyFaults } from './account-fields.ts'

it.each([
  ['latchkey.valid_from', '1', 'belong to Latchkey'],
  ['LATCHKEY.valid_from', '1', 'belong to Latchkey'],
  ['', 'x', 'must not be empty'],
  ['n'.repeat(51), 'x', 'at most 50'],
  ['name', 'v'.repeat(251), 'at most 250'],
  ['name', 'a\u0007', 'control characters'],
  ['language', 'tlh', 'must be one of'],
])('refuses the property %j = %j', (name, value, says) => {
  const reasons = findPropertyFaults(name, value).map(({ reason }) => reason)
  expect(reasons.join()).toContain(says)
})
