import { expect, it } from 'vitest'
import { readRecords } from './read-records.ts'

it('keeps a NUL in its cell, also in a record with quotes, so that it is refused with the cell', () => {
  expect([...readRecords(['"ada",c0rrect-Horse!\0', '"bob","a\0b"'])]).toEqual([
    { line: 1, lineCount: 1, cells: ['ada', 'c0rrect-Horse!\0'] },
    { line: 2, lineCount: 1, cells: ['bob', 'a\0b'] },
  ])
})
