import type { AdminContext } from '../admin-context.ts'
import type { Fault } from '../fault.ts'
import { type CheckedFile, checkFile } from './check-file.ts'
import { type Candidate, parseRow } from './parse-row.ts'
import { openProgress, type Progress } from './progress.ts'
import { type CsvRecord, readRecords } from './read-records.ts'
import { openRefusedReport, type RefusedReport } from './refused-report.ts'
import { createUseridPrefix, type RefusedLine, storeBatch } from './store-batch.ts'

/** Lines of one transaction: enough to be fast, and few enough to keep little in memory. */
const BATCH_LINES = 512

/**
 * Imports a CSV file of users and prints a summary. Each batch is one transaction, and imported users are recognised,
 * so that a killed import can be run again. Throws when lines were refused, after all others were imported.
 */
export async function importUsers(context: AdminContext, path: string): Promise<void> {
  const file = await checkFile(path)
  const progress = openProgress(file.lines.length)
  const report = await openRefusedReport(path, progress.show).catch((error: unknown) => {
    progress.close()
    throw error
  })
  const counts = { imported: 0 }
  try {
    await importLines(context, file, { counts, progress, report })
  } finally {
    progress.close()
    await report.close()
    printSummary(counts.imported, report)
  }
  // The exit code tells scripts that the import is incomplete.
  if (report.refused > 0) throw new Error(`Lines that were refused: ${report.refused}; see ${report.path}`)
}

async function importLines(
  context: AdminContext,
  { lines, columns }: CheckedFile,
  { counts, progress, report }: { counts: { imported: number }; progress: Progress; report: RefusedReport },
): Promise<void> {
  const useridPrefix = createUseridPrefix()
  let batch: Candidate[] = []
  let refused: RefusedLine[] = []

  async function store(lastLine: number): Promise<void> {
    const result = await storeBatch(context, batch, useridPrefix)
    counts.imported += result.imported
    const leftOut = [
      ...refused,
      ...result.refused,
      ...result.alreadyThere.map((line) => ({ line, faults: undefined })),
    ]
    for (const each of leftOut.sort((one, other) => one.line - other.line)) {
      if (each.faults) report.addRefused(each.line, each.faults)
      else report.addAlreadyThere(each.line)
    }
    batch = []
    refused = []
    await report.flush()
    progress.moveTo(lastLine, { imported: counts.imported, refused: report.refused })
  }

  const records = readRecords(lines)
  records.next() // the header
  for (const record of records) {
    const row = parseRecord(record, { ...context, columns })
    if (Array.isArray(row)) refused.push({ line: record.line, faults: row })
    else batch.push(row)
    if (batch.length + refused.length === BATCH_LINES) await store(record.line)
  }
  await store(lines.length)
}

const parseRecord = (record: CsvRecord, rules: Parameters<typeof parseRow>[2]): Candidate | Fault[] =>
  'reason' in record ? [{ field: 'line', reason: record.reason }] : parseRow(record.line, record.cells, rules)

function printSummary(imported: number, { path, refused, alreadyThere }: RefusedReport): void {
  console.log(`Imported ${imported}, already there ${alreadyThere}, refused ${refused}.`)
  if (refused + alreadyThere > 0) console.log(`The lines that were not imported, and why, are in ${path}`)
}
