import { isUtf8 } from 'node:buffer'
import { readFile, stat } from 'node:fs/promises'
import { CsvError, type InfoRecord, parse } from 'csv-parse/sync'
import { parseColumns } from './columns.ts'

export interface UserFile {
  columns: readonly string[]
  records: readonly CsvRecord[]
}

export interface CsvRecord {
  /** The number of its first line. */
  line: number
  cells: readonly string[]
}

/** A million users; the file is read as a whole, and takes ten times as much memory. */
const MAX_FILE_BYTES = 128 * 1024 * 1024

/** Reads a CSV file (RFC 4180) before anything is written; throws unless it is UTF-8 and has a valid header. */
export async function readUserFile(path: string): Promise<UserFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? 'unknown reason'})`)
  })
  // The report is written beside it.
  if (!found.isFile()) throw new Error(`${path} is not a file`)
  if (found.size > MAX_FILE_BYTES) throw new Error(`${path} is larger than 128 MiB; split it`)
  const bytes = await readFile(path)
  refuseOtherEncodings(path, bytes)
  const [header, ...records] = parseRecords(path, bytes.toString())
  if (!header) throw new Error(`${path} is empty: its first line must name the columns`)
  return { columns: parseColumns(header.cells), records }
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

/** A quote in the wrong place can hide the records after it, so it refuses the whole file. */
export function parseRecords(path: string, text: string): CsvRecord[] {
  const records: CsvRecord[] = []
  try {
    // csv-parse counts the two characters within quotes as two lines.
    parse(text.replaceAll('\r\n', '\n'), {
      bom: true,
      skip_empty_lines: true,
      relax_column_count: true,
      record_delimiter: '\n',
      onRecord: (cells: string[], { lines }: InfoRecord) => void records.push(toRecord(cells, lines)),
    })
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    const last = records.at(-1)
    const line = last ? last.line + countLineEnds(last.cells) + 1 : 1
    // The message of csv-parse contains values, which may be passwords.
    throw new Error(
      `${path} cannot be read: a quote after line ${line - 1} is not closed, or in the wrong place`,
    )
  }
  return records
}

const toRecord = (cells: string[], lastLine: number): CsvRecord => ({
  line: lastLine - countLineEnds(cells),
  cells,
})

const countLineEnds = (cells: readonly string[]): number => cells.join('').split('\n').length - 1
