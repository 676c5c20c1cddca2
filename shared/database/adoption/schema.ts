/** The tables of a database, as its catalog describes them. */
export interface Schema {
  tables: readonly Table[]
  columns: readonly Column[]
  indexes: readonly Index[]
  foreignKeys: readonly ForeignKey[]
  server: Server
}

export interface Table {
  table_name: string
  /** False for a view. */
  is_table: Flag
  /** Whether a failed transaction leaves no trace in it. */
  is_transactional: Flag
}

export interface Column {
  table_name: string
  column_name: string
  data_type: string
  /** The type with its length, as a statement names it. */
  full_type: string
  /** In characters, or bytes for binary types; null where the type has no limit. */
  max_length: number | null
  is_nullable: Flag
  /** Whether a row that does not name the column gets a value other than null. */
  has_default: Flag
  /** Whether each update of a row sets the column. */
  is_set_on_update: Flag
  /** The default and the comment, as a new definition of the column repeats them; empty where it need not. */
  kept_clauses: string
  /** Null where the column has no text, or where the whole database has one character set. */
  charset_name: string | null
  collation_name: string | null
}

export interface Index {
  table_name: string
  index_name: string
  is_unique: Flag
  /** The column, or `lower(column)`; several are separated by commas. */
  key_columns: string
}

/** A foreign key of one column. */
export interface ForeignKey {
  table_name: string
  column_name: string
  referenced_table: string
  referenced_column: string
}

export interface Server {
  encoding: string
  /** Whether the database can store every letter. */
  stores_unicode: Flag
  /** Whether the database ignores the case of letters outside ASCII too. */
  folds_unicode: Flag
}

/** MySQL has no booleans. */
export type Flag = boolean | number

/** What a value of a column is. */
export type Kind = 'uuid' | 'text' | 'moment' | 'key'

/** One column of the specification. */
export interface SpecifiedColumn {
  readonly table: 'users' | 'users_property'
  readonly column: string
  readonly kind: Kind
  /** In characters. */
  readonly length?: number
  readonly isNullable?: boolean
  /** A table without it is not the specification's. */
  readonly isIdentifying?: boolean
}

/** Two values that differ only by it belong to accounts that people take for one. */
export const LIKENESSES = ['case', 'space', 'accent'] as const
export type Likeness = (typeof LIKENESSES)[number]

/** Everything that one kind of database has for adopting tables that another program created. */
export interface Adoption {
  /** A `select` for each part of `Schema`, in the order and under the names of its fields. */
  readonly catalog: Readonly<Record<keyof Schema, string>>
  /** The `data_type` of the columns that can be used. */
  readonly types: Readonly<Record<Kind, readonly string[]>>
  /** Further ones from which `redefine` loses nothing. */
  readonly convertible: Readonly<Partial<Record<Kind, readonly string[]>>>
  /** The key of the index by which no two users share `column`, once the migration `uniqueSince` is applied. */
  uniqueKey(column: string): string
  /** Until then the column itself is the key. Absent where it always is. */
  readonly uniqueSince?: string
  /** The migration that gives `column` its specified type, length and collation, whatever they are. */
  redefinedBy(column: SpecifiedColumn): string | undefined
  /** Whether that migration also decides whether the column can be null. */
  readonly redefinesNull: boolean
  /** The migration that creates what sets `updated_at`. Absent where the column itself does. */
  readonly updatedAtSince?: string
  /** How a collation compares text, by its name. Undefined where the database has other means. */
  readonly comparesText?: (collation: string) => { ignoresCase: boolean; isExactOtherwise: boolean }
  /** Two values of `column` that are alike have the same value of this expression. */
  likeness(column: string, likeness: Likeness): string
  /** A condition for values that are longer than the specified length, to which a migration narrows the column. */
  readonly tooLong?: (column: string, length: number) => string
  /** A condition for a moment that no calendar has, which a migration would refuse. */
  readonly impossibleMoment?: (column: string) => string
  /** SQL text that fails, and changes nothing, where the user of the database may not change the tables. */
  readonly requireRights: string
  readonly statements: FixStatements
}

/** A unique index that a table needs. */
export interface WantedIndex {
  name: string
  /** As in `Index.key_columns`. */
  key: string
  /** Whether an index that is not unique has the name. */
  isOccupied: boolean
}

/** SQL that brings a table to the specification. */
export interface FixStatements {
  addColumn(column: SpecifiedColumn): string
  /** Sets type, length, nullability, character set and collation. */
  redefine(column: SpecifiedColumn, found: Column): string
  dropNotNull(found: Column): string
  addUniqueIndex(column: SpecifiedColumn, found: Column, wanted: WantedIndex): string
  addPrimaryKey(table: string, column: string): string
  renameIndex(table: string, from: string, to: string): string
  setCreatedAt(found: Column): string
  setUpdatedAt(found: Column): string
  generateIds(found: Column): string
  addForeignKey(): string
  /** Undefined where every table is transactional. */
  makeTransactional?(table: string): string
}
