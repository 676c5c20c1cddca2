import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { OWN_HOME, wordsFor } from './mounted-host.ts'

it('names the compiled file where the host has a package', () => {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-host-'))
  const home = '/usr/share/scriptify'
  for (const path of ['/usr/bin/node', `${home}/src/call.js`]) {
    mkdirSync(join(root, dirname(path)), { recursive: true })
    writeFileSync(join(root, path), '')
  }
  const words = ['/usr/local/bin/node', join(OWN_HOME, 'src/call.ts'), 'x'] as const
  expect(wordsFor(words, 'node', { root, home })).toEqual(['/usr/bin/node', `${home}/src/call.js`, 'x'])
})
