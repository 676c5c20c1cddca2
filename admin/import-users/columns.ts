import { findPropertyFaults } from '../accounts/account-fields.ts'
import { describeFaults } from '../fault.ts'

const REQUIRED = ['username', 'email'] as const
const KNOWN = [...REQUIRED, 'name', 'role', 'password', 'password_hash'] as const
type KnownColumn = (typeof KNOWN)[number]

const PROPERTY_PREFIX = 'property:'

/** The position of each value in a record. */
export interface Columns {
  indexes: ReadonlyMap<KnownColumn, number>
  properties: readonly { name: string; index: number }[]
}

interface Column {
  name: string
  index: number
  /** Undefined for a property and for a column that does not exist. */
  known: KnownColumn | undefined
}

/** Parses a header; throws one error with everything that is wrong with it. */
export function parseColumns(header: readonly string[]): Columns {
  const columns = header.map((cell, index) => toColumn(cell.trim(), index))
  const indexes = new Map(columns.flatMap(({ known, index }) => (known ? [[known, index] as const] : [])))
  const properties = columns
    .filter(({ name }) => name.startsWith(PROPERTY_PREFIX))
    .map(({ name, index }) => ({ name: name.slice(PROPERTY_PREFIX.length), index }))
  const faults = [
    ...findRepeated(columns),
    ...findUnknown(columns),
    ...properties.map(({ name }) => describeFaults(findPropertyFaults(name, ''))).filter(Boolean),
    ...findMissing(indexes),
  ]
  if (faults.length > 0) throw new Error(`The header cannot be used: ${faults.join('; ')}. ${remedy(header)}`)
  return { indexes, properties }
}

/** Parses a column's name: known columns are found in any case, and the names of properties are case-sensitive. */
const toColumn = (name: string, index: number): Column => ({
  name,
  index,
  known: KNOWN.find((column) => column === name.toLowerCase()),
})

function findRepeated(columns: readonly Column[]): string[] {
  const keys = columns.map(({ name, known }) => known ?? name)
  return columns
    .filter(({ index }) => keys.indexOf(keys[index] ?? '') !== index)
    .map(({ name }) => `the column ${JSON.stringify(name)} is there twice`)
}

const findUnknown = (columns: readonly Column[]): string[] =>
  columns
    .filter(({ name, known }) => !known && !name.startsWith(PROPERTY_PREFIX))
    .map(({ name }) => `the column ${JSON.stringify(name)} is unknown`)

function findMissing(indexes: ReadonlyMap<KnownColumn, number>): string[] {
  const missing: string[] = REQUIRED.filter((column) => !indexes.has(column))
  if (!indexes.has('password') && !indexes.has('password_hash')) missing.push('password or password_hash')
  return missing.map((column) => `the column ${column} is missing`)
}

const remedy = (header: readonly string[]): string =>
  header.length === 1 && /[;\t]/.test(header[0] ?? '')
    ? 'Separate columns by commas'
    : `Columns are ${KNOWN.join(', ')} and property:<name>`
