import { mkdtempDisposable, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { type CsvRecord, readRecords } from './read-records.ts'

it('keeps a NUL in its cell, also in a record with quotes, so that it is refused with the cell', async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'latchkey-csv-'))
  const path = join(folder.path, 'users.csv')
  await writeFile(path, '"ada",c0rrect-Horse!\0\n"bob","a\0b"\n')
  const records: CsvRecord[] = []
  for await (const record of readRecords(path)) records.push(record)
  expect(records).toEqual([
    { line: 1, end: 22, cells: ['ada', 'c0rrect-Horse!\0'] },
    { line: 2, end: 34, cells: ['bob', 'a\0b'] },
  ])
})
