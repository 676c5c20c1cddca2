import { collectFaults } from '@latchkey/shared/settings/settings-error.ts'
import { environments, SECRET } from '@latchkey/shared/settings/test/environments.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseConfig, parseSenderAddress } from './config.ts'

it('makes of any environment either a configuration or faults that name a setting and show no secret', () => {
  fc.assert(
    fc.property(environments(), (given) => {
      for (const fault of collectFaults(() => parseConfig(given))) {
        expect(parseConfig.names).toContain(fault.split(' ', 1)[0])
        expect(fault).not.toContain(SECRET)
      }
    }),
    { numRuns: 200 },
  )
})

it('takes any text for a sender or refuses it, and never two senders for one', () => {
  const text = fc.string({ unit: fc.constantFrom(...'aé@<>",;:()\\ .\r\n') })
  fc.assert(
    fc.property(text, text, (first, second) => {
      const sender = parseSenderAddress(`${first}@a.example, ${second}@b.example`)
      expect(sender?.domain ?? 'b.example').toMatch(/^[^@<>\s]+$/)
    }),
    { numRuns: 500 },
  )
})
