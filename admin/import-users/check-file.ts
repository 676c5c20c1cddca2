import { isUtf8 } from 'node:buffer'
import { stat } from 'node:fs/promises'
import { type Columns, parseColumns } from './columns.ts'
import { readLines } from './read-lines.ts'
import { readRecords } from './read-records.ts'

export interface CheckedFile {
  path: string
  sizeBytes: number
  columns: Columns
}

/** Reads the whole file before anything is written; throws unless it is UTF-8 and has a valid header. */
export async function checkFile(path: string): Promise<CheckedFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? 'unknown reason'})`)
  })
  // It is read twice, which a pipe does not allow.
  if (!found.isFile()) throw new Error(`${path} is not a file`)
  await refuseOtherEncodings(path)
  for await (const record of readRecords(path)) {
    if ('reason' in record) throw new Error(`Line ${record.line}, the header, ${record.reason}`)
    return { path, sizeBytes: found.size, columns: parseColumns(record.cells) }
  }
  throw new Error(`${path} is empty: its first line must name the columns`)
}

async function refuseOtherEncodings(path: string): Promise<void> {
  for await (const { number, bytes } of readLines(path)) {
    const isUtf16 = number === 1 && ((bytes[0] === 0xff && bytes[1] === 0xfe) || bytes.includes(0))
    if (isUtf16 || !isUtf8(bytes)) {
      throw new Error(
        `${path} is not UTF-8 text (line ${number}): save it as UTF-8, for example with iconv -f ${isUtf16 ? 'UTF-16' : 'WINDOWS-1252'} -t UTF-8`,
      )
    }
  }
}
