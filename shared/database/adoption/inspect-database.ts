import { findDifferences } from '../adopt.ts'
import type { Queryable } from '../database.ts'
import type { Difference } from './difference.ts'
import { findRowFaults, ORPHANS } from './find-row-faults.ts'
import { findForeign } from './foreign-tables.ts'
import { hasTable, isMigrated } from './given.ts'
import { readSchema } from './read-schema.ts'
import { NO_FOREIGN_KEY } from './table-rules.ts'

/**
 * How the database differs from the specification, except for what the pending migrations change. Reads rows only while
 * migrations of the specified tables are pending, or something blocks.
 */
export async function inspectDatabase(db: Queryable, applied: ReadonlySet<string>): Promise<Difference[]> {
  const { adoption } = db.dialect
  if (!adoption) return []
  const given = { schema: await readSchema(db, adoption), adoption, applied }
  const differences = findDifferences(given)
  if (!hasTable(given, 'users') || findForeign(given).length > 0) return differences
  const mayHaveRowFaults = !isMigrated(given) || differences.some(({ isBlocking }) => isBlocking)
  if (!mayHaveRowFaults) return differences
  const rows = await findRowFaults(db, given)
  return [...differences.map((difference) => withRows(difference, rows)), ...rows]
}

/** A foreign key cannot be added while rows violate it. */
const withRows = (difference: Difference, rows: readonly Difference[]): Difference =>
  difference.fault === NO_FOREIGN_KEY && rows.some(({ subject }) => subject === ORPHANS)
    ? { ...difference, isSafe: false }
    : difference
