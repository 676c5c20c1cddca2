import { mkdir, mkdtempDisposable } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { buildDebianPackage } from './packages/debian-package.ts'
import { packScriptify } from './packages/npm-package.ts'

// Builds the packages of scriptify in dist/: one for npm, and from it one for Debian.
const ROOT = join(import.meta.dirname, '..', '..')
const target = join(ROOT, 'dist')

await mkdir(target, { recursive: true })
await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-package-'))
const tarball = await packScriptify(ROOT, { folder: folder.path, target })
console.log(relative(ROOT, tarball))
try {
  console.log(relative(ROOT, await buildDebianPackage(tarball, target)))
} catch (error) {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
  console.error(
    `The package for Debian was not built: ${error.message}. dpkg-deb is a program of Debian and Ubuntu.`,
  )
  process.exitCode = 1
}
