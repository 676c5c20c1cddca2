import { parse } from 'csv-parse/sync'

/** A record, or the reason why the line is not one. */
export type CsvRecord = {
  /** The number of its first line. */
  line: number
  lineCount: number
} & ({ cells: readonly string[] } | { reason: string })

/** Quoted values may contain line ends; the limit keeps a missing quote from consuming the file. */
const MAX_RECORD_LINES = 100
/** A byte that no UTF-8 text contains, so that all line ends and NUL stay in their cell. */
const NO_DELIMITER = Buffer.from([0xff])

/**
 * Reads the records of the lines of a CSV file (RFC 4180), the header first. csv-parse gets one record at a time, so
 * that an unclosed quote loses its own line only; a parser of the whole file would lose everything after it.
 */
export function* readRecords(lines: readonly string[]): Generator<CsvRecord> {
  let columnCount: number | undefined
  for (let index = 0; index < lines.length; ) {
    if (lines[index]?.trim() === '') {
      index += 1
      continue
    }
    const record = readRecord(lines, index, columnCount)
    if ('cells' in record) columnCount ??= record.cells.length
    yield record
    index += record.lineCount
  }
}

/** An invalid record consumes one line only, so that the next line is read as usual. */
function readRecord(lines: readonly string[], index: number, columnCount: number | undefined): CsvRecord {
  const refuse = (reason: string): CsvRecord => ({ line: index + 1, lineCount: 1, reason })
  let text = lines[index] ?? ''
  let lineCount = 1
  for (; hasOpenQuote(text); lineCount++) {
    const line = lineCount < MAX_RECORD_LINES ? lines[index + lineCount] : undefined
    if (line === undefined) return refuse('has a quote that is not closed')
    text += `\n${line}`
  }
  const cells = parseCells(text)
  if (!cells) return refuse('has a quote in the wrong place')
  if (columnCount !== undefined && cells.length !== columnCount)
    return refuse(`has ${cells.length} values, and the header has ${columnCount} columns`)
  return { line: index + 1, lineCount, cells }
}

const hasOpenQuote = (text: string): boolean => (text.split('"').length - 1) % 2 === 1

function parseCells(text: string): readonly string[] | undefined {
  try {
    return parse(text, { record_delimiter: NO_DELIMITER, relax_column_count: true })[0]
  } catch {
    return undefined
  }
}
