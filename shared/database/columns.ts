import type { Queryable, SqlValue } from './database.ts'

/** The columns that an insert writes, each with the value that an item has there. Statements and values follow from it. */
export type Columns<Item, Name extends string = string> = Readonly<
  Record<Name, (item: Item, db: Pick<Queryable, 'toUuidValue'>) => SqlValue>
>

/** Returns the names of the columns, as a statement lists them. */
export const namesOf = (columns: object): string => Object.keys(columns).join(', ')

/** Returns what follows `insert into` and the table: the columns, and a placeholder for each. */
export const toInsert = (columns: object): string =>
  `(${namesOf(columns)}) values (${Object.keys(columns).map((_, index) => `$${index + 1}`)})`

/** Returns an assignment of each column but `kept`, by the placeholders of `toInsert`. */
export const toAssignments = (columns: object, kept: readonly string[]): string =>
  Object.keys(columns)
    .flatMap((name, index) => (kept.includes(name) ? [] : `${name} = $${index + 1}`))
    .join(', ')

/** Returns the values of an item, in the order of the columns. */
export const valuesOf = <Item>(
  columns: Columns<Item>,
  item: Item,
  db: Pick<Queryable, 'toUuidValue'>,
): SqlValue[] => Object.values(columns).map((toValue) => toValue(item, db))
