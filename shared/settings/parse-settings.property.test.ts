import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SETTINGS, type SettingName } from './definitions.ts'
import { findMisspelt } from './misspelt.ts'
import { parseSettings, readSettings } from './parse-settings.ts'
import { collectFaults } from './settings-error.ts'
import { environments, SECRET } from './test/environments.ts'

const NAMES = Object.keys(SETTINGS) as SettingName[]

it('makes of any environment either settings or faults that name their setting and show no secret', () => {
  fc.assert(
    fc.property(environments(), fc.constantFrom('auth-api', 'mailer-worker', undefined), (given, service) => {
      const faults = collectFaults(() => parseSettings(NAMES, given, service))
      expect(NAMES).toEqual(expect.arrayContaining(faults.map((fault) => fault.split(' ', 1)[0])))
      expect(faults.filter((fault) => fault.includes(SECRET) || fault.includes('\n'))).toEqual([])
    }),
    { numRuns: 300 },
  )
})

it('reads each setting alike, alone and with all the others', () => {
  fc.assert(
    fc.property(environments(), fc.constantFrom(...NAMES), (given, name) => {
      const all = readSettings(NAMES, given)
      const alone = readSettings([name], given)
      expect(alone.values[name]).toEqual(all.values[name])
      expect(alone.faults.get(name)).toBe(all.faults.get(name))
    }),
    { numRuns: 100 },
  )
})

it('takes a name for a misspelling of the setting that is one edit away', () => {
  const edits = fc.tuple(
    fc.constantFrom(...NAMES.filter((name) => name.length > 12)),
    fc.nat(),
    fc.constantFrom('_', 'X', ''),
  )
  fc.assert(
    fc.property(edits, ([name, position, by]) => {
      const index = position % name.length
      const misspelt = name.slice(0, index) + by + name.slice(index + 1)
      fc.pre(!Object.hasOwn(SETTINGS, misspelt))
      expect(findMisspelt(misspelt)).toBeDefined()
    }),
  )
})
