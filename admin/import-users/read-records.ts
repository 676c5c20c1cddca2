import { parse } from 'csv-parse/sync'
import { type Line, readLines } from './read-lines.ts'

/** A record, or the reason why the line is not one. */
export type CsvRecord = {
  line: number
  /** The offset after the record, in bytes. */
  end: number
} & ({ cells: readonly string[] } | { reason: string })

/** Quoted values may contain line ends; the limit keeps a missing quote from consuming the file. */
const MAX_RECORD_LINES = 100
const BYTE_ORDER_MARK = '\ufeff'
/** A byte that no UTF-8 text contains, so that all line ends and NUL stay in their cell. */
const NO_DELIMITER = Buffer.from([0xff])

/**
 * Reads the records of a CSV file (RFC 4180; LF or CRLF), the header first. csv-parse gets one record at a time, so
 * that an unclosed quote loses its own line only; a parser of the whole stream would lose everything after it.
 */
export async function* readRecords(path: string): AsyncGenerator<CsvRecord> {
  const lines = readLines(path)
  const ahead: Line[] = []
  let cellCount: number | undefined

  async function lookAt(index: number): Promise<Line | undefined> {
    while (ahead.length <= index) {
      const next = await lines.next()
      if (next.done) return undefined
      ahead.push(next.value)
    }
    return ahead[index]
  }

  for (let first = await lookAt(0); first; first = await lookAt(0)) {
    const text = toText(first)
    if (text.trim() === '') {
      ahead.shift()
      continue
    }
    const { lineCount, ...found } = await readRecord(text, lookAt, cellCount)
    const last = ahead[lineCount - 1] ?? first
    ahead.splice(0, lineCount)
    if ('cells' in found) cellCount ??= found.cells.length
    yield { line: first.number, end: last.end, ...found }
  }
}

type Found = { lineCount: number } & ({ cells: readonly string[] } | { reason: string })

/** An invalid record consumes one line only, so that the next line is read as usual. */
async function readRecord(
  first: string,
  lookAt: (index: number) => Promise<Line | undefined>,
  cellCount: number | undefined,
): Promise<Found> {
  let text = first
  let lineCount = 1
  for (; hasOpenQuote(text); lineCount++) {
    const line = lineCount < MAX_RECORD_LINES ? await lookAt(lineCount) : undefined
    if (!line) return { lineCount: 1, reason: 'has a quote that is not closed' }
    text += `\n${toText(line)}`
  }
  const cells = parseCells(text)
  if (!cells) return { lineCount: 1, reason: 'has a quote in the wrong place' }
  if (cellCount !== undefined && cells.length !== cellCount)
    return { lineCount: 1, reason: `has ${cells.length} values, and the header has ${cellCount} columns` }
  return { lineCount, cells }
}

const hasOpenQuote = (text: string): boolean => (text.split('"').length - 1) % 2 === 1

function parseCells(text: string): readonly string[] | undefined {
  if (!text.includes('"')) return text.split(',')
  try {
    const records: string[][] = parse(text, { record_delimiter: NO_DELIMITER, relax_column_count: true })
    return records.length === 1 ? records[0] : undefined
  } catch {
    return undefined
  }
}

/** Line ends within quotes become line feeds, also in files with CRLF. */
function toText({ number, bytes }: Line): string {
  const text = bytes.toString('utf8').replace(/\r$/, '')
  return number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text
}
