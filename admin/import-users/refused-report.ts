import { open, rm } from 'node:fs/promises'
import type { Fault } from '../fault.ts'

/** The number of refused lines on the terminal; the file contains all. */
const MAX_SHOWN = 20

export interface RefusedReport {
  path: string
  refused: number
  alreadyThere: number
  addRefused(line: number, faults: readonly Fault[]): void
  addAlreadyThere(line: number): void
  /** Writes what was added since the last flush. */
  flush(): Promise<void>
  /** Closes the file, and removes it when nothing was reported. */
  close(): Promise<void>
}

/**
 * Opens `<file>.refused.csv`, with line, field and reason of everything that was not imported. It contains no values,
 * which may be passwords. Throws when the file cannot be created.
 */
export async function openRefusedReport(
  importPath: string,
  show: (line: string) => void,
): Promise<RefusedReport> {
  const path = `${importPath}.refused.csv`
  const file = await open(path, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The report ${path} cannot be written (${error.code ?? 'unknown reason'})`)
  })
  await file.write('line,field,reason\n')
  let unwritten = ''
  const add = (line: number, { field, reason }: Fault) => {
    unwritten += `${line},${quote(field)},${quote(reason)}\n`
  }
  const report: RefusedReport = {
    path,
    refused: 0,
    alreadyThere: 0,
    addRefused(line, faults) {
      report.refused += 1
      for (const fault of faults) {
        add(line, fault)
        if (report.refused <= MAX_SHOWN) show(`line ${line}: ${fault.field} ${fault.reason}`)
      }
      if (report.refused === MAX_SHOWN + 1) show(`More refused lines are in ${path}`)
    },
    addAlreadyThere(line) {
      report.alreadyThere += 1
      add(line, { field: 'username', reason: 'is in the database already, with this e-mail' })
    },
    async flush() {
      if (unwritten) await file.write(unwritten)
      unwritten = ''
    },
    async close() {
      await report.flush()
      await file.close()
      if (report.refused + report.alreadyThere === 0) await rm(path, { force: true })
    },
  }
  return report
}

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`
