import type { PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { findSchemeName, getScheme, PASSWORD_SCHEMES } from '@latchkey/shared/passwords/schemes.ts'
import type { UserProperty } from '@latchkey/shared/users/user.ts'
import { findAccountFaults, findPropertyFaults } from '../accounts/account-fields.ts'
import { findPasswordFaults } from '../accounts/password-faults.ts'
import type { Fault } from '../fault.ts'
import type { Columns } from './columns.ts'

/** A line that is valid, except that the database was not asked yet. */
export interface Candidate {
  line: number
  username: string
  email: string
  name: string | null
  role: string | null
  secret: { password: string } | { hash: string }
  properties: readonly UserProperty[]
}

export interface ImportRules {
  columns: Columns
  policy: PasswordPolicy
  /** The schemes of stored hashes with which a login succeeds. */
  acceptedSchemes: readonly string[]
}

/** Parses a record; returns every fault when it is invalid. */
export function parseRow(
  line: number,
  cells: readonly string[],
  { columns: { indexes, properties }, policy, acceptedSchemes }: ImportRules,
): Candidate | Fault[] {
  const cellOf = (column: Parameters<typeof indexes.get>[0]) => cells[indexes.get(column) ?? -1] ?? ''
  const fields = {
    username: cellOf('username').normalize('NFC'),
    email: cellOf('email').normalize('NFC'),
    name: cellOf('name').normalize('NFC'),
    role: cellOf('role').normalize('NFC'),
  }
  const given = properties
    .map(({ name, index }) => ({ name, value: cells[index] ?? '' }))
    .filter(({ value }) => value !== '')
  const secret = parseSecret(cellOf('password'), cellOf('password_hash'), { policy, acceptedSchemes })
  const faults = [
    ...findAccountFaults(fields),
    ...(Array.isArray(secret) ? secret : []),
    ...given.flatMap(({ name, value }) => findPropertyFaults(name, value)),
  ]
  if (faults.length > 0 || Array.isArray(secret)) return faults
  return { line, ...fields, name: fields.name || null, role: fields.role || null, secret, properties: given }
}

function parseSecret(
  password: string,
  hash: string,
  { policy, acceptedSchemes }: Omit<ImportRules, 'columns'>,
): Candidate['secret'] | Fault[] {
  if (password !== '' && hash !== '')
    return [{ field: 'password', reason: 'and password_hash are both given; leave one empty' }]
  if (password !== '') {
    const faults = findPasswordFaults(password, policy)
    return faults.length > 0 ? faults : { password }
  }
  if (hash === '') return [{ field: 'password', reason: 'or password_hash must be given' }]
  const fault = describeHashFault(hash, acceptedSchemes)
  if (fault) return [{ field: 'password_hash', reason: fault }]
  // SHA-1 is the one scheme whose text has no case.
  return { hash: findSchemeName(hash) === 'sha1' ? hash.toLowerCase() : hash }
}

function describeHashFault(hash: string, acceptedSchemes: readonly string[]): string | undefined {
  const name = findSchemeName(hash)
  if (name === undefined) return `must be ${FORMS}`
  if (!acceptedSchemes.includes(name))
    return `is ${name}, with which no login succeeds until PASSWORD_HASH_ACCEPTED names it`
  return getScheme(name).findFault(hash)
}

const FORMS = new Intl.ListFormat('en', { type: 'disjunction' }).format(
  Object.values(PASSWORD_SCHEMES).map(({ form }) => form),
)
