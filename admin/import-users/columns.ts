import { didYouMean } from '@latchkey/text/closest-name.ts'
import { findPropertyFaults } from '../accounts/account-fields.ts'
import { describeFaults } from '../fault.ts'

const KNOWN = [
  ...['username', 'email', 'name', 'role', 'password', 'password_hash'],
  ...['userid', 'created_at', 'email_confirmed', 'banned_until', 'deleted_at', 'language', 'metadata'],
  ...['identities', 'totp_secret', 'recovery_codes'],
]

export const PROPERTY_PREFIX = 'property:'

/**
 * Parses a header into the names of its columns; throws one error with everything that is wrong with it. The error has no
 * cell: the first line of a file without a header contains passwords.
 */
export function parseColumns(header: readonly string[]): string[] {
  if (header.some((cell) => cell.includes('\r')))
    throw new Error(
      'The first line contains a carriage return alone. Let every line of the file end with a line feed',
    )
  const columns = header.map((cell) => parseName(cell.trim()))
  if (!columns.some((name) => KNOWN.includes(name)))
    throw new Error(`The first line must name the columns. ${remedy(header)}`)
  const faults = [
    ...columns.map(describeColumnFault).filter((fault) => fault !== ''),
    ...findMissing(columns).map((name) => `the column ${name} is missing`),
  ]
  if (faults.length > 0) throw new Error(`The header cannot be used: ${faults.join('; ')}. ${remedy(header)}`)
  return columns
}

/** Known columns are found in any case; the names of properties are case-sensitive. */
const parseName = (name: string): string => KNOWN.find((known) => known === name.toLowerCase()) ?? name

function describeColumnFault(name: string, index: number, columns: readonly string[]): string {
  const first = columns.indexOf(name)
  if (first < index) return `column ${index + 1} has the name of column ${first + 1}`
  if (name.startsWith(PROPERTY_PREFIX))
    return describeFaults(findPropertyFaults(name.slice(PROPERTY_PREFIX.length), ''))
  return KNOWN.includes(name) ? '' : `column ${index + 1} is unknown${didYouMean(name, KNOWN)}`
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
