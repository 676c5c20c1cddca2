import fc from 'fast-check'
import { expect, it } from 'vitest'
import { findSenderDomain } from './addresses.ts'

it.each([
  { text: 'no-reply@example.com', domain: 'example.com' },
  { text: 'Latchkey <no-reply@example.com>', domain: 'example.com' },
  { text: '"Latchkey, Inc." <no-reply@bücher.example>', domain: 'bücher.example' },
])('finds the domain of $text', ({ text, domain }) => {
  expect(findSenderDomain(text)).toBe(domain)
})

it.each([
  '',
  'example.com',
  'a@example.com, b@example.com',
  'a@>"@a.example, @b.example',
  'a@example.com\r\n',
])('refuses %j, which is not one address', (text) => {
  expect(findSenderDomain(text)).toBeUndefined()
})

it('takes any text for a sender or refuses it, and never two senders for one', () => {
  const text = fc.string({ unit: fc.constantFrom(...'aé@<>",;:()\\ .\r\n') })
  fc.assert(
    fc.property(text, text, (first, second) => {
      const sender = findSenderDomain(`${first}@a.example, ${second}@b.example`)
      expect(sender ?? 'b.example').toMatch(/^[^@<>\s]+$/)
    }),
    { numRuns: 500 },
  )
})
