import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { type Columns, parseColumns } from './columns.ts'
import { readRecords } from './read-records.ts'

export interface CheckedFile {
  path: string
  lines: readonly string[]
  columns: Columns
}

/** A million users and more; the file is read as a whole. */
const MAX_FILE_BYTES = 256 * 1024 * 1024

/** Reads the file before anything is written; throws unless it is UTF-8 and has a valid header. */
export async function checkFile(path: string): Promise<CheckedFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? 'unknown reason'})`)
  })
  // The report is written beside it.
  if (!found.isFile()) throw new Error(`${path} is not a file`)
  if (found.size > MAX_FILE_BYTES) throw new Error(`${path} is larger than 256 MiB; split it`)
  const bytes = await readFile(path)
  refuseOtherEncodings(path, bytes)
  const lines = bytes
    .toString()
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
  for (const record of readRecords(lines)) {
    if ('reason' in record) throw new Error(`Line ${record.line}, the header, ${record.reason}`)
    return { path, lines, columns: parseColumns(record.cells) }
  }
  throw new Error(`${path} is empty: its first line must name the columns`)
}

function refuseOtherEncodings(path: string, bytes: Buffer): void {
  const lines = bytes.toString('latin1').split('\n')
  const isUtf16 = /^\xff\xfe|\0/.test(lines[0] ?? '')
  const number = isUtf16 ? 1 : 1 + lines.findIndex((line) => !isUtf8(Buffer.from(line, 'latin1')))
  if (number > 0)
    throw new Error(
      `${path} is not UTF-8 text (line ${number}): save it as UTF-8, for example with iconv -f ${isUtf16 ? 'UTF-16' : 'WINDOWS-1252'} -t UTF-8`,
    )
}
