import { expect, it } from 'vitest'
import { parseBoth, SettingsError } from './settings-error.ts'

const refuse = (error: Error) => () => {
  throw error
}
const noHost = new SettingsError(['HOST is missing.'])
const broken = new TypeError('external.ts is broken')

it('reports the faults of the second of two that fail', async () => {
  await expect(parseBoth(refuse(broken), refuse(noHost))).rejects.toMatchObject({
    faults: ['HOST is missing.'],
  })
})

it('lists each fault once, a line each', () => {
  const error = new SettingsError(['PORT is missing.', 'HOST is missing.', 'PORT is missing.'])
  expect(String(error)).toBe(
    'SettingsError: The settings cannot be used:\n  PORT is missing.\n  HOST is missing.',
  )
})
