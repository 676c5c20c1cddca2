import { findPropertyFaults } from '../accounts/account-fields.ts'
import { describeFaults } from '../fault.ts'

const KNOWN = ['username', 'email', 'name', 'role', 'password', 'password_hash']

export const PROPERTY_PREFIX = 'property:'

/** Parses a header into the names of its columns; throws one error with everything that is wrong with it. */
export function parseColumns(header: readonly string[]): string[] {
  const columns = header.map((cell) => parseName(cell.trim()))
  const faults = [
    ...columns
      .filter((name, index) => columns.indexOf(name) !== index)
      .map((name) => `the column ${JSON.stringify(name)} is there twice`),
    ...columns.map(describeColumnFault).filter((fault) => fault !== ''),
    ...findMissing(columns).map((name) => `the column ${name} is missing`),
  ]
  if (faults.length > 0) throw new Error(`The header cannot be used: ${faults.join('; ')}. ${remedy(header)}`)
  return columns
}

/** Known columns are found in any case; the names of properties are case-sensitive. */
const parseName = (name: string): string => KNOWN.find((known) => known === name.toLowerCase()) ?? name

function describeColumnFault(name: string): string {
  if (name.startsWith(PROPERTY_PREFIX))
    return describeFaults(findPropertyFaults(name.slice(PROPERTY_PREFIX.length), ''))
  return KNOWN.includes(name) ? '' : `the column ${JSON.stringify(name)} is unknown`
}

function findMissing(columns: readonly string[]): string[] {
  const missing = ['username', 'email'].filter((name) => !columns.includes(name))
  if (!columns.includes('password') && !columns.includes('password_hash'))
    missing.push('password or password_hash')
  return missing
}

const remedy = (header: readonly string[]): string =>
  header.length === 1 && /[;\t]/.test(header[0] ?? '')
    ? 'Separate columns by commas'
    : `Columns are ${KNOWN.join(', ')} and property:<name>`
