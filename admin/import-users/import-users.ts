import { type FileHandle, open, rm } from 'node:fs/promises'
import { findSchemeName } from '@latchkey/shared/passwords/schemes.ts'
import { BAN_PROPERTY, UNCONFIRMED_PROPERTY } from '@latchkey/shared/users/account-state.ts'
import { fold } from '@latchkey/shared/users/user.ts'
import type { AdminContext } from '../admin-context.ts'
import type { Fault } from '../fault.ts'
import { type Candidate, type ImportRules, parseRow } from './parse-row.ts'
import { type CsvRecord, readUserFile, type UserFile } from './read-user-file.ts'
import { type RefusedLine, type StoreOptions, storeBatch } from './store-batch.ts'

/** Lines of one transaction. */
const BATCH_LINES = 512

/** Lines after which the progress is shown. */
const SHOWN_EVERY = 20 * BATCH_LINES

/**
 * Imports a CSV file of users and prints a summary. Each batch is one transaction, and imported users are recognised,
 * so that a killed import can be run again. Throws when lines were refused, after all others were imported.
 */
export async function importUsers(
  context: AdminContext,
  path: string,
  options: StoreOptions = { isDryRun: false, sealer: undefined },
): Promise<void> {
  const file = await readUserFile(path)
  const reportPath = `${path}.refused.csv`
  const report = await openReport(reportPath)
  const counts = { imported: 0, alreadyThere: 0, withoutEmail: 0, refused: 0 }
  const kinds = new Map<string, number>()
  const rules = {
    ...context,
    columns: file.columns,
    sealsFactors: options.sealer !== undefined,
    now: context.localNow(),
  }
  try {
    await report.writeFile('line,field,reason\n')
    for await (const batch of readBatches(file)) {
      const parsed = parseBatch(batch, rules)
      const result = await storeBatch(context, parsed.candidates, options)
      counts.imported += result.imported.length
      for (const kind of result.imported.flatMap(kindsOf)) kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      counts.alreadyThere += result.alreadyThere
      counts.withoutEmail += parsed.candidates.filter(({ email }) => email === null).length
      const refused = [...parsed.refused, ...result.refused]
      counts.refused += refused.length
      await report.writeFile(formatRefused(refused))
      showProgress(counts.imported + counts.alreadyThere + counts.refused)
    }
  } finally {
    await report.close()
    if (counts.refused === 0) await rm(reportPath)
    console.log(
      `${options.isDryRun ? 'Would import' : 'Imported'} ${counts.imported}, already there ${counts.alreadyThere}, refused ${counts.refused}.`,
    )
    if (counts.withoutEmail > 0)
      console.log(
        `Without an e-mail: ${counts.withoutEmail}. They can log in with LOGIN_FIELD=username only, and cannot reset a password.`,
      )
    if (kinds.size > 0)
      console.log(
        [...kinds]
          .map(([kind, count]) => `${kind}: ${count}`)
          .toSorted()
          .join(', '),
      )
  }
  // The exit code tells scripts that the import is incomplete.
  if (counts.refused > 0)
    throw new Error(`Lines that were refused: ${counts.refused}; ${reportPath} says why each was refused`)
}

/** The kinds by which the users of an import are counted. */
function kindsOf(candidate: Candidate): string[] {
  const { secret, properties, deletedAt, identities, totpSecret, metadata, isUsernameMade } = candidate
  const names = properties.map(({ name }) => name)
  const kinds = {
    [`password ${'hash' in secret ? (findSchemeName(secret.hash) ?? 'none') : 'in clear'}`]: true,
    'e-mail not confirmed': names.includes(UNCONFIRMED_PROPERTY),
    banned: names.includes(BAN_PROPERTY),
    deleted: deletedAt !== undefined,
    'with an identity': identities.length > 0,
    'with an authenticator app': totpSecret !== undefined,
    'with metadata': metadata !== undefined,
    'with a made username': isUsernameMade,
  }
  return Object.keys(kinds).filter((kind) => kinds[kind as keyof typeof kinds])
}

async function* readBatches({ records }: UserFile): AsyncGenerator<CsvRecord[]> {
  let batch: CsvRecord[] = []
  let isHeader = true
  for await (const record of records) {
    if (!isHeader) batch.push(record)
    isHeader = false
    if (batch.length < BATCH_LINES) continue
    yield batch
    batch = []
  }
  yield batch
}

function showProgress(lines: number): void {
  if (lines > 0 && lines % SHOWN_EVERY === 0) console.error(`${lines} lines`)
}

/** Throws before anything is imported when the report cannot be written. */
const openReport = (path: string): Promise<FileHandle> =>
  open(path, 'w', 0o600).catch((error: NodeJS.ErrnoException) => {
    throw new Error(`The report ${path} cannot be written (${error.code ?? 'unknown reason'})`)
  })

/** The report contains no values, which may be passwords. */
function formatRefused(refused: readonly RefusedLine[]): string {
  return refused
    .toSorted((one, other) => one.line - other.line)
    .flatMap(({ line, faults }) =>
      faults.map(({ field, reason }) => `${line},${quote(field)},${quote(reason)}\n`),
    )
    .join('')
}

const quote = (text: string): string => `"${text.replaceAll('"', '""')}"`

/** The lines that can be imported if no user of the database has their names, and the others. */
function parseBatch(
  records: readonly CsvRecord[],
  rules: ImportRules,
): { candidates: Candidate[]; refused: RefusedLine[] } {
  const candidates: Candidate[] = []
  const refused: RefusedLine[] = []
  const lines = new Map<string, number>()
  for (const record of records) {
    const row = parseRow(record, rules)
    const faults = Array.isArray(row) ? row : findRepeated(row, lines)
    if (Array.isArray(row) || faults.length > 0) refused.push({ line: record.line, faults })
    else candidates.push(row)
  }
  return { candidates, refused }
}

/** Notes what nobody else may have of a line; returns what an earlier line of the batch has. */
function findRepeated(
  { line, username, email, userid, identities }: Candidate,
  lines: Map<string, number>,
): Fault[] {
  const names = [
    { field: 'username', text: username },
    { field: 'email', text: email ?? '' },
    { field: 'userid', text: userid ?? '' },
    ...identities.map(({ provider, subject }) => ({ field: 'identities', text: `${provider}:${subject}` })),
  ]
  return names.flatMap(({ field, text }) => {
    const key = `${field} ${field === 'identities' ? text : fold(text)}`
    const earlier = lines.get(key)
    if (earlier !== undefined) return [{ field, reason: `is also that of line ${earlier}` }]
    if (text !== '') lines.set(key, line)
    return []
  })
}
