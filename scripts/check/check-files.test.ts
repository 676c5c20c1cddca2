import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ROOT } from '@latchkey/test-support/images.ts'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { endedOf } from '@latchkey/test-support/scriptify-image.ts'
import { describe, expect, it, onTestFinished } from 'vitest'

const hasPrograms = ['php', 'phpcs', 'shellcheck'].every((name) =>
  isInstalled(name, { requiredBy: 'REQUIRE_PROGRAMS' }),
)

const PROGRAM = join(import.meta.dirname, 'check-files.ts')
const GOOD = { 'a.php': '<?php\n\necho 1;\n', 'a.sh': '#!/bin/sh\necho a\n' }

/** Runs `npm run check:files` on a folder with these files. */
function check(files: Record<string, string>, environment: Record<string, string> = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'latchkey-check-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  for (const name of ['.editorconfig', '.gitignore']) copyFileSync(join(ROOT, name), join(folder, name))
  for (const [name, text] of Object.entries({ ...GOOD, ...files })) writeFileSync(join(folder, name), text)
  const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`)
  return endedOf('env', [...variables, process.execPath, PROGRAM, folder])
}

describe.skipIf(!hasPrograms)('npm run check:files', () => {
  it('accepts files without a fault', async () => {
    expect(await check({})).toMatchObject({ code: 0, stderr: '' })
  })

  it.each([
    {
      what: 'PHP that does not parse',
      files: { 'a.php': '<?php\n\necho 1\necho 2;\n' },
      fault: /syntax error/,
    },
    {
      what: 'PHP in another style',
      files: { 'a.php': '<?php\n\n$a=array();\n' },
      fault: /a\.php:3:\d+: error/,
    },
    { what: 'a fault in shell', files: { 'a.sh': '#!/bin/sh\nrm $1/*\n' }, fault: /a\.sh:2:\d+: .*SC2086/ },
    {
      what: 'a blank at the end of a line',
      files: { 'a.sql': 'select 1 \n' },
      fault: /a\.sql:1 ends with a blank/,
    },
  ])('refuses $what', async ({ files, fault }) => {
    expect(await check(files)).toMatchObject({ code: 1, stderr: expect.stringMatching(fault) })
  })
})

describe('npm run check:files without its programs', () => {
  const missing = expect.stringMatching(
    /php-cli\n[\s\S]*php-codesniffer\n[\s\S]*apt-get install shellcheck\n$/,
  )

  it('says which packages have them', async () => {
    expect(await check({}, { PATH: '/nonexistent', REQUIRE_PROGRAMS: '' })).toMatchObject({
      code: 0,
      stderr: missing,
    })
  })

  it('fails under REQUIRE_PROGRAMS=1', async () => {
    expect(await check({}, { PATH: '/nonexistent', REQUIRE_PROGRAMS: '1' })).toMatchObject({
      code: 1,
      stderr: missing,
    })
  })
})
