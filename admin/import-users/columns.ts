import { findPropertyFaults } from '../accounts/account-fields.ts'
import { describeFaults } from '../fault.ts'

const REQUIRED = ['username', 'email'] as const
const KNOWN = [...REQUIRED, 'name', 'role', 'password', 'password_hash'] as const
type KnownColumn = (typeof KNOWN)[number]

const PROPERTY_PREFIX = 'property:'

/** Where each value stands in a record. */
export interface Columns {
  indexes: ReadonlyMap<KnownColumn, number>
  properties: readonly { name: string; index: number }[]
}

/** Understands a header; throws one error with all that is wrong with it. */
export function parseColumns(header: readonly string[]): Columns {
  const names = header.map((name) => name.trim())
  const indexes = new Map<KnownColumn, number>()
  const properties: { name: string; index: number }[] = []
  const faults: string[] = []
  for (const [index, name] of names.entries()) {
    const known = KNOWN.find((column) => column === name.toLowerCase())
    if (names.indexOf(name) !== index) faults.push(`the column ${JSON.stringify(name)} is there twice`)
    if (known) indexes.set(known, index)
    if (name.startsWith(PROPERTY_PREFIX)) properties.push({ name: name.slice(PROPERTY_PREFIX.length), index })
    if (!known && !name.startsWith(PROPERTY_PREFIX)) faults.push(`there is no column ${JSON.stringify(name)}`)
  }
  for (const { name } of properties) {
    const nameFaults = findPropertyFaults(name, '')
    if (nameFaults.length > 0) faults.push(describeFaults(nameFaults))
  }
  faults.push(...findMissing(indexes))
  if (faults.length > 0) throw new Error(`The header cannot be used: ${faults.join('; ')}. ${remedy(header)}`)
  return { indexes, properties }
}

function findMissing(indexes: ReadonlyMap<KnownColumn, number>): string[] {
  const missing: string[] = REQUIRED.filter((column) => !indexes.has(column))
  if (!indexes.has('password') && !indexes.has('password_hash')) missing.push('password or password_hash')
  return missing.map((column) => `the column ${column} is missing`)
}

const remedy = (header: readonly string[]): string =>
  header.length === 1 && /[;\t]/.test(header[0] ?? '')
    ? 'Columns are separated by commas'
    : `Columns are ${KNOWN.join(', ')} and property:<name>`
