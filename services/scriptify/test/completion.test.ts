import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { isInstalled } from '../../test/support/installed-program.ts'
import { createSources } from '../src/cli/completion/sources.ts'
import { MAIN, ROOT } from './terminal-docker.ts'
import { startTypist } from './terminal-pty.ts'

/** The lines that the documentation has for the files of the shells. */
const [, DOCUMENTED = ''] =
  /completion\.test\.ts -->\n```sh\n([^`]*)```/.exec(
    readFileSync(join(ROOT, 'docs/how-to/run-a-method.md'), 'utf8'),
  ) ?? []

const SHELLS = [
  { shell: 'bash', args: ['--norc', '--noprofile', '-i'], before: '' },
  { shell: 'zsh', args: ['-f', '-i'], before: 'autoload -U compinit; compinit -D; ' },
  { shell: 'fish', args: ['--no-config', '-i'], before: '' },
].filter(({ shell }) => isInstalled(shell, { requiredBy: 'REQUIRE_PROGRAMS' }))

it.each(SHELLS)(
  'completes a class and its method in $shell, which passes them on',
  async ({ shell, args, before }) => {
    const folder = mkdtempSync(join(tmpdir(), 'scriptify-completion-'))
    const start = `#!/bin/sh\nexec "${process.execPath}" ${MAIN} "$@"\n`
    writeFileSync(join(folder, 'scriptify'), start, { mode: 0o755 })
    await using typist = startTypist(shell, args, {
      prompt: /READY/,
      cwd: join(ROOT, 'services/scriptify/test/run/node'),
      env: { PATH: `${folder}:${process.env.PATH}`, HOME: folder },
    })
    const load = DOCUMENTED.split('\n').find((line) => line.includes(`completion ${shell}`))
    typist.type(`${before}${load}; echo LOA''DED\r`)
    await typist.see('LOADED')
    // Each shell redraws what it likes of the line.
    typist.type('scriptify run App\\\\Pro\t')
    await typist.see('be::')
    typist.type('stil\t')
    await typist.see(/stil\P{L}*l/u)
    typist.type('\r')
    expect(await typist.see('static')).not.toContain('did you mean')
  },
)

it('completes the methods of a class whose backslash the shell has removed', async () => {
  const sources = createSources(async () => [], process.env)
  const found = await sources.references('AppProbe::sti', join(ROOT, 'services/scriptify/test/run/node'))
  expect(found).toEqual([{ value: 'App\\Probe::still', description: '' }])
})
