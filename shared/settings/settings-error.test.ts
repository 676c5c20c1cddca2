import { expect, it } from 'vitest'
import { collectFaults, parseBoth, SettingsError } from './settings-error.ts'

const refuse = (error: Error) => () => {
  throw error
}
const [noPort, noHost] = [new SettingsError(['PORT is missing.']), new SettingsError(['HOST is missing.'])]
const broken = new TypeError('external.ts is broken')

it.each([
  {
    why: 'both',
    first: noPort,
    second: noHost,
    thrown: { faults: ['PORT is missing.', 'HOST is missing.'] },
  },
  {
    why: 'the one with faults first',
    first: broken,
    second: noHost,
    thrown: { faults: ['HOST is missing.'] },
  },
])('reports $why', async ({ first, second, thrown }) => {
  await expect(parseBoth(refuse(first), refuse(second))).rejects.toMatchObject(thrown)
})

it('passes on any other error, and both results', async () => {
  await expect(parseBoth(() => 1, refuse(broken))).rejects.toBe(broken)
  await expect(
    parseBoth(
      () => 1,
      async () => 'two',
    ),
  ).resolves.toEqual([1, 'two'])
})

it('lists each fault once, a line each', () => {
  const error = new SettingsError(['PORT is missing.', 'HOST is missing.', 'PORT is missing.'])
  expect(String(error)).toBe(
    'SettingsError: The settings cannot be used:\n  PORT is missing.\n  HOST is missing.',
  )
})

it('collects the faults of all steps, and passes on any other error', () => {
  const fine = () => undefined
  expect(collectFaults(refuse(noPort), fine, refuse(noHost))).toEqual([
    'PORT is missing.',
    'HOST is missing.',
  ])
  expect(() => collectFaults(refuse(noPort), refuse(broken))).toThrow(broken)
})
