import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { listFiles } from '@latchkey/test-support/list-files.ts'
import { expect, it } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import lock from '../../package-lock.json' with { type: 'json' }
import { toDebianVersion } from './packages/debian-package.ts'

const ROOT = join(import.meta.dirname, '../..')
const VERSION = manifest.version
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const files = listFiles(ROOT)

it('every workspace has the version of package.json, and needs the others in it', () => {
  const locked = Object.entries(lock.packages).filter(([path]) => !path.includes('node_modules'))
  expect(locked.length).toBeGreaterThan(6)
  const manifests = locked.map(([path]) => JSON.parse(read(join(path, 'package.json'))))
  for (const each of [...manifests, lock, ...locked.map(([, entry]) => entry)]) {
    const needed = Object.entries({ ...each.dependencies, ...each.devDependencies })
    const versions = needed.filter(([name]) => name.startsWith('@latchkey/')).map(([, version]) => version)
    expect(new Set([each.version, ...versions]), each.name).toEqual(new Set([VERSION]))
  }
})

/** The forms in which a file names the version of an image or a package of Latchkey. */
const NAMED = [
  /\blatchkey\/[a-z-]+:(\d[\w.-]*)/g,
  /newTag: ([\w.-]+)/g,
  /LATCHKEY_VERSION:-([\w.-]+)/g,
  /ARG VERSION=([\w.-]+)/g,
  /latchkey-scriptify-([\w.-]+)\.tgz/g,
  /scriptify_([\w.~-]+)_all\.deb/g,
]

it('images, manifests and docs name the version of package.json', () => {
  const named = files
    .filter((file) => /(\.ya?ml|\.md|\.sh|Dockerfile)$/.test(file))
    .flatMap((file) =>
      NAMED.flatMap((pattern) => [...read(file).matchAll(pattern)].map(([, version]) => ({ file, version }))),
    )
  expect(named.length).toBeGreaterThan(20)
  const own = [VERSION, toDebianVersion(VERSION)]
  expect(named.filter(({ version }) => !own.includes(version ?? ''))).toEqual([])
})

it('the changelog and the page of versions agree with package.json on what is released', () => {
  const released = /^## \[(\d[^\]]*)\]/m.exec(read('CHANGELOG.md'))?.[1]
  const [candidate = ''] = VERSION.match(/-rc\.\d+$/) ?? []
  // The version in package.json is released, or a candidate of the next release.
  if (released !== VERSION) expect(candidate, VERSION).not.toBe('')
  const nothing = 'No version has been released yet'
  for (const page of ['CHANGELOG.md', 'docs/reference/versions.md']) {
    expect(read(page).includes(nothing), page).toBe(released === undefined)
    if (released === undefined) expect(read(page)).toContain(`\`${VERSION}\``)
  }
})

it('Debian sorts a candidate before its release', () => {
  expect(toDebianVersion('1.0.0-rc.0')).toBe('1.0.0~rc.0')
  expect(toDebianVersion('1.0.0')).toBe('1.0.0')
})
