import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { findKeptSettings, SETTINGS } from './scriptify-settings.ts'

const PAGE = join(import.meta.dirname, '../../../docs/reference/scriptify-run.md')

it('has the settings of the documentation', () => {
  const documented = readFileSync(PAGE, 'utf8').matchAll(/^\| `(SCRIPTIFY_\w+)` \|/gm)
  expect([...documented].map(([, name]) => name).sort()).toEqual(
    Object.values(SETTINGS)
      .map(({ name }) => name)
      .sort(),
  )
})

it('keeps for a service what its command depends on, where it is set', () => {
  expect(
    findKeptSettings({
      SCRIPTIFY_BOOTLOADER: 'boot.php',
      SCRIPTIFY_PHP_BINARY: '',
      SCRIPTIFY_DEBUG: '1',
      PATH: '/bin',
    }),
  ).toEqual({ SCRIPTIFY_BOOTLOADER: 'boot.php' })
})
