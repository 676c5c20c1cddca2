import type { Queryable } from '../database.ts'
import type { Column, Difference, Index, Table } from './adoption.ts'
import { describeRefusal } from './describe-differences.ts'
import {
  findDifferences,
  findForeign,
  findSharedAccounts,
  hasTable,
  type InspectedDatabase,
} from './find-differences.ts'
import { findRowFaults } from './find-row-faults.ts'

/** The last migration that changes the specified tables. */
const LAST_CHANGE = '0011_fold_sigma'

/**
 * Finds how the database differs from the specification, except for what the pending migrations change. Reads rows only while
 * these migrations are pending, or the tables differ.
 */
export async function inspectDatabase(db: Queryable, applied: ReadonlySet<string>): Promise<Difference[]> {
  const inspected = await readCatalog(db, applied)
  if (!inspected) return []
  const differences = findDifferences(inspected)
  if (!hasTable(inspected, 'users') || findForeign(inspected).length > 0) return differences
  const mayHaveRowFaults = !inspected.isMigrated || differences.length > 0
  return mayHaveRowFaults ? [...differences, ...(await findRowFaults(db, inspected))] : differences
}

/** Finds why two users can share an e-mail, a username or an id. Reads the catalog only. */
export async function inspectAccounts(db: Queryable, applied: ReadonlySet<string>): Promise<Difference[]> {
  const inspected = await readCatalog(db, applied)
  return inspected ? findSharedAccounts(inspected) : []
}

/** Throws unless the differences are none, or `--adopt` was given and SQL removes all of them. */
export function requireNoDifferences(differences: readonly Difference[], adopt: boolean): void {
  const areFixed = adopt && differences.every(({ fix }) => fix !== undefined)
  if (differences.length > 0 && !areFixed) throw new Error(describeRefusal(differences))
}

/** Reads what the catalog says about the tables; undefined where this kind of database cannot adopt tables. */
async function readCatalog(
  db: Queryable,
  applied: ReadonlySet<string>,
): Promise<InspectedDatabase | undefined> {
  const { adoption } = db.dialect
  if (!adoption) return undefined
  const { tables, columns, indexes } = adoption.catalog
  const schema = {
    tables: await db.query<Table>({ name: 'catalog-tables', text: tables }),
    columns: await db.query<Column>({ name: 'catalog-columns', text: columns }),
    indexes: await db.query<Index>({ name: 'catalog-indexes', text: indexes }),
  }
  return { schema, adoption, isMigrated: applied.has(LAST_CHANGE) }
}
