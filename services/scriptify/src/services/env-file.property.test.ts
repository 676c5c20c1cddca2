import { execFileSync, type StdioOptions } from 'node:child_process'
import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseEnvFile, renderEnvFile, updateEnvFile } from './env-file.ts'

/** Standard streams without an input: bash takes a socket there for a remote shell, and reads ~/.bashrc. */
const QUIET: StdioOptions = ['ignore', 'pipe', 'inherit']

const MARK = '# scriptify: managed service=x template=crond v=1\n'

// A separate prefix: a shell refuses to assign some names, such as UID.
const names = fc.stringMatching(/^[A-Za-z0-9_]{0,8}$/).map((text) => `V_${text}`)
const values = fc.oneof(
  fc.string({ unit: fc.constantFrom(...`"'\\$\`!#%&;|<>(){}[]*?~= \t\n\r aé漢😀`) }),
  fc.string({ unit: anyCharacter }).map((text) => text.replaceAll('\0', '').toWellFormed()),
)
const variables = fc.dictionary(names, values, { maxKeys: 12, noNullPrototype: true })

it('reads what it writes', () => {
  fc.assert(
    fc.property(variables, (given) => {
      expect(parseEnvFile(MARK + renderEnvFile(given))).toEqual(given)
    }),
    { numRuns: 1000 },
  )
})

it('changes the given variables of a file edited by hand, and nothing else', () => {
  const line = fc.oneof(
    fc.tuple(names, values).map(([name, value]) => renderEnvFile({ [name]: value })),
    fc.tuple(names, values).map(([name, value]) => `${name}='${value.replaceAll("'", '')}'\n`),
    fc.tuple(names, fc.stringMatching(/^[\w $%.-]*$/)).map(([name, value]) => `${name}=${value}\n`),
    values.map((text) => `# ${text.replaceAll(/[\n\r]/g, ' ')}\n`),
  )
  const text = fc.array(line).map((lines) => lines.join(''))
  fc.assert(
    fc.property(text, variables, (before, changes) => {
      const after = updateEnvFile(MARK + before, changes)
      expect(parseEnvFile(after)).toEqual({ ...parseEnvFile(MARK + before), ...changes })
      expect(updateEnvFile(after, changes), 'changed twice').toBe(after)
    }),
    { numRuns: 300 },
  )
})

/** The number of files that one shell reads: its start takes longer. */
const FILES = 10
/** Each file in its own subshell, whose environment ends with a line that no variable has. */
const READ_FILES = 'set -a; for file; do (. "$file"; exec env -0); printf "END\\0"; done'

it.each(['/bin/sh', '/bin/bash'])('is read by %s as by itself', async (shell) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'scriptify-env-'))
  const files = Array.from({ length: FILES }, (_, index) => join(folder.path, `${index}.env`))
  const property = fc.asyncProperty(
    fc.array(variables, { minLength: FILES, maxLength: FILES }),
    async (given) => {
      await Promise.all(files.map((file, index) => writeFile(file, MARK + renderEnvFile(given[index] ?? {}))))
      const seen = execFileSync(shell, ['-ec', READ_FILES, 'sh', ...files], {
        encoding: 'utf8',
        stdio: QUIET,
        env: { PATH: process.env.PATH },
      })
      expect(seen.split('\0END\0').slice(0, -1).map(readVariables)).toEqual(given)
    },
  )
  await fc.assert(property, { numRuns: 60 / FILES })
})

/** The variables of a test in what `env -0` printed. */
function readVariables(printed: string): Record<string, string> {
  const entries = printed.split('\0').filter((entry) => entry.startsWith('V_'))
  return Object.fromEntries(
    entries.map((entry) => [entry.slice(0, entry.indexOf('=')), entry.slice(entry.indexOf('=') + 1)]),
  )
}
