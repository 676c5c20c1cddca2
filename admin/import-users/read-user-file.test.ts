import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type CsvRecord, readRecords, readUserFile } from './read-user-file.ts'

it.each([
  { why: 'UTF-16', content: Buffer.from('username,email,password\n', 'utf16le'), says: 'not UTF-8' },
  {
    why: 'Latin-1 far below',
    content: Buffer.from(
      `username,email,password\nearly,early@x.org,pass\nlate,late@x.org,\u00fc\n`,
      'latin1',
    ),
    says: 'line 3',
  },
  { why: 'a header that cannot be used', content: 'username;email;password\n', says: 'by commas' },
  {
    why: 'a quote that is not closed',
    content: 'username,email,password\nada,a@x.org,pass\n"bob,b@x.org,pass\n',
    says: 'a quote in line 3 or before is not closed',
  },
  {
    why: 'a quote in the wrong place',
    content: 'username,email,password\n"a\nda",a@x.org,pass\nb"ob,b@x.org,pass\n',
    says: 'a quote in line 4',
  },
  { why: 'no content', content: '', says: 'is empty' },
])('refuses a file with $why', async ({ content, says }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-import-'))
  const path = join(folder.path, 'users.csv')
  await writeFile(path, content)
  await expect(readUserFile(path)).rejects.toThrow(says)
})

it('refuses a path that cannot be read', async () => {
  await expect(readUserFile('/nowhere/users.csv')).rejects.toThrow('cannot be read (ENOENT)')
  await expect(readUserFile(tmpdir())).rejects.toThrow('is not a file')
})

it.each([
  {
    what: 'a NUL in its cell, so that it is refused with the cell',
    content: '"ada",c0rrect-Horse!\0\n"bob","a\0b"',
    records: [
      { line: 1, cells: ['ada', 'c0rrect-Horse!\0'] },
      { line: 2, cells: ['bob', 'a\0b'] },
    ],
  },
  {
    what: 'the number of the first line, without blank lines',
    content: 'a,b\r\n\r\n"x\r\ny",2\r\n3,4\r\n',
    records: [
      { line: 1, cells: ['a', 'b'] },
      { line: 3, cells: ['x\ny', '2'] },
      { line: 5, cells: ['3', '4'] },
    ],
  },
])('reads $what', async ({ content, records }) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-import-'))
  const path = join(folder.path, 'users.csv')
  await writeFile(path, content)
  const read: CsvRecord[] = []
  for await (const record of readRecords(path)) read.push(record)
  expect(read).toEqual(records)
})
