import { mkdirSync, mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { listFiles } from './list-files.ts'

const IGNORED = ['node_modules/a.js', 'config/dev/credentials.env', 'tls.key', '.git/HEAD', 'a/start.log']
const KEPT = ['.gitignore', '.ci/run', 'a/tls.key', 'config/dev/settings.env']

it('lists the files of an archive, which has no repository, without those that .gitignore names', () => {
  using folder = mkdtempDisposableSync(join(tmpdir(), 'latchkey-archive-'))
  for (const path of [...IGNORED, ...KEPT]) {
    mkdirSync(dirname(join(folder.path, path)), { recursive: true })
    writeFileSync(join(folder.path, path), '')
  }
  writeFileSync(
    join(folder.path, '.gitignore'),
    '# Created here.\nnode_modules/\n*.log\n/tls.*\nconfig/*/credentials.env*\n',
  )
  expect(listFiles(folder.path).toSorted()).toEqual(KEPT.toSorted())
})
