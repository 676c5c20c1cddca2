import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  type PathLike,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { link, open, rename, unlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { aService } from '../../../test/services/a-service.ts'
import { type FileOperations, removeLeftovers } from '../replace-files.ts'
import { systemd } from '../systems/systemd.ts'
import type { Installation } from './put-in-place.ts'
import { putInPlace } from './put-in-place.ts'

const UNIT = '/etc/systemd/system/importer.service'
const REFUSED = {
  exitCode: 1,
  message:
    'Nothing was installed: another installation of importer has finished first; see scriptify services',
}

/** An installation of a unit into an empty root, where `present` may have been installed before. */
function anInstallation({ present }: { present?: string } = {}) {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-race-'))
  const path = join(root, UNIT)
  mkdirSync(join(path, '..'), { recursive: true })
  if (present !== undefined) writeFileSync(path, present)
  const existing = present === undefined ? [] : [{ path, owner: 'own', stats: statSync(path) }]
  const service = aService({ root })
  const files = [{ path: UNIT, mode: 0o644, content: 'this' }]
  const installation = {
    service,
    system: systemd,
    options: { name: 'importer', root },
    files,
    existing,
    kept: [],
  }
  return { installation: installation as unknown as Installation, path }
}

/** File operations during whose first step of this kind the other installation ends and removes leftovers. */
function operationsBeside(step: 'link' | 'rename', path: string): FileOperations {
  const operations = { link, open, rename, unlink }
  const beside = async (from: PathLike, to: PathLike) => {
    expect(await removeLeftovers([path])).not.toEqual([])
    return operations[step](from, to)
  }
  return { ...operations, [step]: beside }
}

it('says that another installation of the name was faster, and leaves that as it is', async () => {
  const { installation, path } = anInstallation()
  // Written after this installation has looked.
  writeFileSync(path, 'the other')
  await expect(putInPlace(installation)).rejects.toMatchObject(REFUSED)
  expect(readFileSync(path, 'utf8')).toBe('the other')
})

it.each([
  { why: 'before the first file is in place', step: 'link' as const, present: undefined },
  { why: 'before the file is replaced', step: 'rename' as const, present: 'the other' },
])('says the same when the other one ends $why', async ({ step, present }) => {
  const { installation, path } = anInstallation(present === undefined ? {} : { present })
  await expect(putInPlace(installation, operationsBeside(step, path))).rejects.toMatchObject(REFUSED)
  expect(existsSync(path) ? readFileSync(path, 'utf8') : undefined).toBe(present)
  expect(readdirSync(join(path, '..'))).toEqual(present === undefined ? [] : ['importer.service'])
})
