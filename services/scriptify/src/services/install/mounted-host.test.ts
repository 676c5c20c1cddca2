import { mkdirSync, mkdtempSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { OWN_HOME, wordsFor } from './mounted-host.ts'

/** A host with these files, and these links to others. */
function aHost(files: readonly string[], links: Readonly<Record<string, string>> = {}): string {
  const root = mkdtempSync(join(tmpdir(), 'scriptify-host-'))
  for (const path of [...files, ...Object.keys(links)])
    mkdirSync(join(root, dirname(path)), { recursive: true })
  for (const path of files) writeFileSync(join(root, path), '')
  for (const [path, target] of Object.entries(links)) symlinkSync(target, join(root, path))
  return root
}

const words = ['/usr/local/bin/node', join(OWN_HOME, 'src/call.ts'), 'x'] as const
const LAUNCHER = 'services/scriptify/bin/scriptify'

describe('the command on a host whose files are mounted', () => {
  it.each([
    { why: 'relative, in a package', home: '/usr/share/scriptify', link: '../share/scriptify' },
    { why: 'absolute, in a checkout', home: '/opt/latchkey', link: '/opt/latchkey' },
  ])('names the scriptify that its link leads to: $why, compiled', ({ home, link }) => {
    const files = ['/usr/bin/node', `${home}/src/call.js`, `${home}/${LAUNCHER}`]
    const root = aHost(files, { '/usr/bin/scriptify': `${link}/${LAUNCHER}` })
    expect(wordsFor(words, 'node', root)).toEqual(['/usr/bin/node', `${home}/src/call.js`, 'x'])
  })

  it('does not take another scriptify for its own', () => {
    const home = '/usr/share/scriptify'
    const files = ['/usr/bin/node', '/opt/vendor/bin/scriptify', `${home}/src/call.ts`, `${home}/${LAUNCHER}`]
    const links = {
      '/usr/local/bin/scriptify': '/opt/vendor/bin/scriptify',
      '/usr/bin/scriptify': `${home}/${LAUNCHER}`,
    }
    expect(wordsFor(words, 'node', aHost(files, links))).toEqual([
      '/usr/bin/node',
      `${home}/src/call.ts`,
      'x',
    ])
  })

  it.each([
    { why: 'scriptify', runtime: 'node' as const, files: ['/usr/bin/node'], code: 3, says: 'scriptify was' },
    {
      ...{ why: 'its file', runtime: 'node' as const, code: 3, says: 'call.ts does not exist: install' },
      files: ['/usr/bin/node', `/usr/share/scriptify/${LAUNCHER}`],
    },
    {
      ...{ why: 'php', runtime: 'php' as const, code: 5, says: 'php was not found below' },
      files: [`/usr/share/scriptify/${LAUNCHER}`, '/usr/share/scriptify/src/call.ts'],
    },
  ])('is refused without $why', ({ runtime, files, code, says }) => {
    const link = files.some((file) => file.endsWith(LAUNCHER))
      ? { '/usr/bin/scriptify': `../share/scriptify/${LAUNCHER}` }
      : {}
    expect(() => wordsFor(words, runtime, aHost(files, link))).toThrow(
      expect.objectContaining({ exitCode: code, message: expect.stringContaining(says) }),
    )
  })
})
