import { isUtf8 } from 'node:buffer'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { parseColumns } from './columns.ts'

export interface UserFile {
  columns: readonly string[]
  /** The records, the header first. */
  records: AsyncIterable<CsvRecord>
}

export interface CsvRecord {
  /** The number of its first line. */
  line: number
  cells: readonly string[]
}

/** Reads a CSV file (RFC 4180) before anything is written; throws unless it is UTF-8 and has a valid header. */
export async function readUserFile(path: string): Promise<UserFile> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${path} cannot be read (${error.code ?? 'unknown reason'})`)
  })
  // The report is written beside it.
  if (!found.isFile()) throw new Error(`${path} is not a file`)
  await requireUtf8(path)
  let columns: string[] | undefined
  // To its end: a quote in the wrong place can hide the records after it, so it refuses the whole file.
  for await (const { cells } of readRecords(path)) columns ??= parseColumns(cells)
  if (!columns) throw new Error(`${path} is empty: its first line must name the columns`)
  return { columns, records: readRecords(path) }
}

async function requireUtf8(path: string): Promise<void> {
  let number = 0
  const lines = createInterface({ input: createReadStream(path, 'latin1'), crlfDelay: Infinity })
  for await (const line of lines) {
    number++
    const isUtf16 = number === 1 && /^\xff\xfe|\0/.test(line.slice(0, 1_000))
    if (!isUtf16 && isUtf8(Buffer.from(line, 'latin1'))) continue
    throw new Error(
      `${path} is not UTF-8 text (line ${number}): save it as UTF-8, for example with iconv -f ${isUtf16 ? 'UTF-16' : 'WINDOWS-1252'} -t UTF-8`,
    )
  }
}

/** Reads the records of a CSV file one after the other; blank lines are left out. */
export async function* readRecords(path: string): AsyncGenerator<CsvRecord> {
  const parser = parse({ bom: true, relax_column_count: true, record_delimiter: ['\r\n', '\n'] })
  // It destroys the parser with an error of the file, which ends the loop.
  pipeline(createReadStream(path), parser, () => undefined)
  let line = 1
  try {
    for await (const given of parser as AsyncIterable<string[]>) {
      const cells = given.map((cell) => cell.replaceAll('\r\n', '\n'))
      if (cells.length > 1 || cells[0]?.trim()) yield { line, cells }
      line += cells.join('').split('\n').length
    }
  } catch (error) {
    if (!(error instanceof CsvError)) throw error
    // The message of csv-parse contains values, which may be passwords.
    throw new Error(
      `${path} cannot be read: a quote in line ${error.lines} or before is not closed, or in the wrong place`,
    )
  }
}
