import fc from 'fast-check'
import { expect, it } from 'vitest'
import { SETTINGS, type SettingName } from './definitions.ts'
import { parseSettings } from './parse-settings.ts'
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
