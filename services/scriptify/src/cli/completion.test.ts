import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isInstalled } from '@latchkey/test-support/installed-program.ts'
import { describe, expect, it } from 'vitest'
import { INIT_SYSTEMS } from '../services/init-systems.ts'
import { createCli } from './cli.ts'
import { formatCompletion, SHELLS, type Shell } from './completion.ts'

const SERVICES = ['importer', 'mailer']

/** A line up to the cursor, and what may follow; the names of files where it is not given. */
const CASES: [line: string, words?: readonly string[]][] = [
  ['scriptify ins', ['install']],
  ['scriptify --he', ['--help']],
  ['scriptify stop ', SERVICES],
  ['scriptify uninstall m', ['mailer']],
  ['scriptify terminal i', ['importer']],
  ['scriptify logs --follow imp', ['importer']],
  ['scriptify services --on', ['--only-names']],
  ['scriptify install x --template ', INIT_SYSTEMS.map(({ name }) => name)],
  ['scriptify install x -t up', ['upstart']],
  ['scriptify install --cl', ['--class']],
  ['scriptify terminal --runtime p', ['php']],
  ['scriptify terminal --execute i'],
  ['scriptify terminal --rootdir '],
  ['scriptify run src/re'],
  ['scriptify endpoint P', ['POST', 'PUT', 'PATCH']],
  ['scriptify endpoint POST http --hea', ['--header']],
  ['scriptify completion z', ['zsh']],
]

const quote = (word: string) => `'${word}'`

/** Prints `<index> <word>` for each word that may follow, and `<index> FILES` for a file, in one process of the shell. */
const DRIVERS: Record<Shell, { program: string[]; ask(line: string, index: number): string; setUp: string }> =
  {
    bash: {
      program: ['bash', '--norc'],
      setUp: `scriptify() { printf '%s\\n' ${SERVICES.join(' ')}; }
      ask() { local n=$1; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _scriptify
        if ((\${#COMPREPLY[@]})); then printf "$n %s\\n" "\${COMPREPLY[@]}"; else echo "$n FILES"; fi; }`,
      ask: (line, index) => `ask ${index} ${line.split(' ').map(quote).join(' ')}`,
    },
    zsh: {
      program: ['zsh', '-f'],
      setUp: `scriptify() { printf '%s\\n' ${SERVICES.join(' ')}; }; compdef() { :; }
      compadd() { local word; for word in $found; do [[ $word == $words[CURRENT]* ]] && echo "$n $word"; done; }
      _files() { echo "$n FILES"; }
      ask() { n=$1; shift; words=("$@"); CURRENT=$#; _scriptify; }`,
      ask: (line, index) => `ask ${index} ${line.split(' ').map(quote).join(' ')}`,
    },
    fish: {
      program: ['fish', '--no-config'],
      setUp: `function scriptify; printf '%s\\n' ${SERVICES.join(' ')}; end
      function __fish_complete_path; echo FILES; end
      function commandline; test $argv[1] = -opc; and printf '%s\\n' $before; or echo -n $current; end
      function ask; set -g before $argv[2..-2]; set -g current $argv[-1]
        for word in (__scriptify_complete); string match -q -- "$current*" $word; or test $word = FILES; and echo "$argv[1] $word"; end; end`,
      ask: (line, index) => `ask ${index} ${line.split(' ').map(quote).join(' ')}`,
    },
  }

describe.each(SHELLS.filter((shell) => isInstalled(shell, { requiredBy: 'REQUIRE_PROGRAMS' })))(
  'the completion of %s',
  async (shell) => {
    const script = formatCompletion(await createCli(), shell)
    const { program, setUp, ask } = DRIVERS[shell]
    const [file = '', ...options] = program
    const input = [setUp, script, ...CASES.map(([line], index) => ask(line, index)), 'true'].join('\n')
    const answers = execFileSync(file, [...options, '-c', input], { encoding: 'utf8' })
      .trim()
      .split('\n')

    it.each(CASES.map(([line, words = ['FILES']], index) => ({ line, words, index })))(
      'completes $line',
      ({ words, index }) => {
        const found = answers.filter((answer) => answer.startsWith(`${index} `))
        expect(found.map((answer) => answer.slice(`${index} `.length)).sort()).toEqual([...words].sort())
      },
    )

    it('is loaded by the line of the documentation', async () => {
      const page = readFileSync(join(import.meta.dirname, '../../../../docs/how-to/run-a-method.md'), 'utf8')
      const load = page.split('\n').find((line) => line.includes(`scriptify completion ${shell}`))
      await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-completion-'))
      await writeFile(join(folder.path, 'script'), script)
      await writeFile(join(folder.path, 'scriptify'), `#!/bin/sh\ncat ${folder.path}/script\n`, {
        mode: 0o755,
      })
      const isLoaded = {
        bash: 'complete -p scriptify',
        zsh: 'echo $_comps[scriptify]',
        fish: 'complete -c scriptify',
      }
      const before = shell === 'zsh' ? 'autoload -U compinit; compinit -D\n' : ''
      const shown = execFileSync(file, [...options, '-c', `${before}${load}\n${isLoaded[shell]}`], {
        env: { ...process.env, HOME: folder.path, PATH: `${folder.path}:${process.env.PATH}` },
        encoding: 'utf8',
      })
      expect(shown).toContain('_scriptify')
    })
  },
)
