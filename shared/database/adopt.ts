import { findCaseSensitive, findColumnFaults, findMissingColumns } from './adoption/column-rules.ts'
import { describeRefusal } from './adoption/describe-differences.ts'
import type { Difference } from './adoption/difference.ts'
import { findForeign } from './adoption/foreign-tables.ts'
import { type Given, hasTable } from './adoption/given.ts'
import { findMisnamedIndexes, findMissingKeys, findSharedNames } from './adoption/index-rules.ts'
import {
  findDefaults,
  findForeignKey,
  findServerDifferences,
  findStorage,
  findUnknownColumns,
} from './adoption/table-rules.ts'

/**
 * How the tables `users` and `users_property` differ from the specification, except for what the pending migrations
 * change. In the order in which their SQL can run.
 */
export function findDifferences(given: Given): Difference[] {
  const foreign = findForeign(given)
  if (foreign.length > 0) return foreign
  return [
    ...findStorage(given),
    ...findMissingColumns(given),
    ...findColumnFaults(given),
    ...findMissingKeys(given),
    ...findSharedNames(given),
    ...findMisnamedIndexes(given),
    ...findDefaults(given),
    ...findForeignKey(given),
    ...findUnknownColumns(given),
    ...findServerDifferences(given),
  ]
}

/** Why two users can share an e-mail, a username or an id; empty where they cannot. */
export const findSharedAccounts = (given: Given): Difference[] =>
  hasTable(given, 'users')
    ? [...findMissingKeys(given), ...findSharedNames(given), ...findCaseSensitive(given)].filter(
        ({ isBlocking }) => isBlocking,
      )
    : []

/**
 * The differences that a migration removes before it starts: with `adopt` all whose SQL is safe, otherwise none. Throws
 * where something blocks that it does not remove.
 */
export function chooseFixes(differences: readonly Difference[], adopt: boolean): Difference[] {
  const fixes = differences.filter(({ isSafe, sql }) => adopt && isSafe && sql !== undefined)
  const blocking = differences.filter((difference) => difference.isBlocking && !fixes.includes(difference))
  if (blocking.length > 0) throw new Error(describeRefusal(blocking))
  return fixes
}
