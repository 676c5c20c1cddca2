import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { systemd } from '../systems/systemd.ts'
import type { Installation } from './put-in-place.ts'
import { putInPlace } from './put-in-place.ts'

it('says that another installation of the name was faster, and leaves that as it is', async () => {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-race-'))
  const folder = join(root, 'etc/systemd/system')
  const path = join(folder, 'importer.service')
  mkdirSync(folder, { recursive: true })
  // Written after this installation has looked.
  writeFileSync(path, 'the other')
  const request: Partial<Installation['request']> = { root, name: 'importer', system: systemd, enable: false }
  const files = [{ path: '/etc/systemd/system/importer.service', mode: 0o644, content: 'this' }]
  const installation = { request, files, existing: [], kept: { variables: {}, text: '', summary: undefined } }
  await expect(putInPlace(installation as unknown as Installation)).rejects.toMatchObject({
    exitCode: 1,
    message:
      'Nothing was installed: another installation of importer has finished first; see scriptify services',
  })
  expect(readFileSync(path, 'utf8')).toBe('the other')
})
