import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { readRecords, readUserFile } from './read-user-file.ts'

const cells = fc.oneof(
  fc.string({ unit: fc.constantFrom(...'"",;\n\r \tabé漢😀') }),
  fc.string({ unit: anyCharacter, maxLength: 20 }).map((text) => text.toWellFormed()),
)

/** A cell as RFC 4180 says, in quotes where it needs them, or in any case. */
const quote = (cell: string, always: boolean): string =>
  always || /["\r\n,]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell

/** Line ends within quotes become line feeds. */
const asRead = (cell: string): string => cell.replaceAll('\r\n', '\n')

it('reads the records that RFC 4180 writes', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-csv-'))
  const path = join(folder.path, 'users.csv')
  const rows = fc
    .integer({ min: 2, max: 5 })
    .chain((width) =>
      fc.array(fc.array(cells, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 8 }),
    )
  const styles = fc.record({
    always: fc.boolean(),
    lineEnd: fc.constantFrom('\n', '\r\n'),
    last: fc.boolean(),
  })
  const property = fc.asyncProperty(rows, styles, async (given, { always, lineEnd, last }) => {
    const lines = given.map((row) => row.map((cell) => quote(cell, always)).join(','))
    const content = lines.join(lineEnd) + (last ? lineEnd : '')
    await writeFile(path, content)
    const read: (readonly string[])[] = []
    for await (const { cells } of readRecords(path)) read.push(cells)
    expect(read).toEqual(given.map((row) => row.map(asRead)))
  })
  await fc.assert(property, { numRuns: 120 })
})

it('takes any bytes for a list of users, or refuses them with what is wrong', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-csv-'))
  const path = join(folder.path, 'users.csv')
  const header = fc.constantFrom(
    '',
    'username,email,password\n',
    '"username",email,password_hash,property:x\n',
    '\ufeff',
  )
  const bytes = fc.oneof(
    fc.uint8Array({ maxLength: 200 }),
    fc.string().map((given) => Buffer.from(given)),
  )
  const property = fc.asyncProperty(header, bytes, async (start, rest) => {
    await writeFile(path, Buffer.concat([Buffer.from(start), rest]))
    await readUserFile(path).then(
      ({ columns }) => expect(columns.includes('username')).toBe(true),
      ({ message }) =>
        expect(message).toMatch(
          /a quote in line \d+ or before|^The header cannot be used: |^The first line | \(line \d+\): | is empty: /,
        ),
    )
  })
  await fc.assert(property, { numRuns: 120 })
})
