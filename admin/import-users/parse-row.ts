import type { PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'
import { findSchemeName, getScheme, PASSWORD_SCHEMES } from '@latchkey/shared/passwords/schemes.ts'
import { makeUsername } from '@latchkey/shared/users/account-names.ts'
import { findAccountFaults, findPropertyFaults } from '../accounts/account-fields.ts'
import { findPasswordFaults } from '../accounts/password-faults.ts'
import type { Fault } from '../fault.ts'
import { PROPERTY_PREFIX } from './columns.ts'
import { type AccountRules, type ImportedAccount, parseAccount } from './parse-account.ts'
import type { CsvRecord } from './read-user-file.ts'

/** A line that is valid, except that the database was not asked yet. */
export interface Candidate extends ImportedAccount {
  line: number
  username: string
  /** True where the file has no username, and the import has made one. */
  isUsernameMade: boolean
  email: string | null
  name: string | null
  role: string | null
  secret: { password: string } | { hash: string }
}

export interface ImportRules extends AccountRules {
  columns: readonly string[]
  policy: PasswordPolicy
  /** The schemes of stored hashes with which a login succeeds. */
  acceptedSchemes: readonly string[]
}

/** Parses a record; returns every fault when it is invalid. */
export function parseRow(
  { line, cells }: CsvRecord,
  { columns, ...rules }: ImportRules,
): Candidate | Fault[] {
  if (cells.length !== columns.length)
    return [
      { field: 'line', reason: `has ${cells.length} values, and the header has ${columns.length} columns` },
    ]
  const row = new Map(columns.map((name, index) => [name, cells[index] ?? '']))
  const cellOf = (column: string) => row.get(column) ?? ''
  const textOf = (column: string) => cellOf(column).normalize('NFC')
  // A user with an e-mail needs no other name to log in.
  const isUsernameMade = textOf('username') === '' && textOf('email') !== ''
  const fields = {
    username: isUsernameMade ? makeUsername() : textOf('username'),
    email: textOf('email'),
    name: textOf('name'),
    role: textOf('role'),
  }
  const properties = [...row]
    .filter(([column, value]) => column.startsWith(PROPERTY_PREFIX) && value !== '')
    .map(([column, value]) => ({ name: column.slice(PROPERTY_PREFIX.length), value }))
  const accountFaults: Fault[] = []
  const account = parseAccount(cellOf, rules, accountFaults)
  const secret = parseSecret(cellOf('password'), cellOf('password_hash'), rules)
  const faults = [
    // Unlike a user who signs up, one of an old database may have no e-mail.
    ...findAccountFaults(fields).filter(({ field }) => field !== 'email' || fields.email !== ''),
    ...(Array.isArray(secret) ? secret : []),
    ...properties.flatMap(({ name, value }) => findPropertyFaults(name, value)),
    ...accountFaults,
  ]
  if (faults.length > 0 || Array.isArray(secret)) return faults
  const { username, email, name, role } = fields
  return {
    ...account,
    ...{
      line,
      username,
      isUsernameMade,
      email: email || null,
      name: name || null,
      role: role || null,
      secret,
    },
    properties: [...properties, ...account.properties],
  }
}

/** A hash of no scheme: the user has to reset the password. */
const RESET_REQUIRED = '!'

function parseSecret(
  password: string,
  hash: string,
  { policy, acceptedSchemes }: Pick<ImportRules, 'policy' | 'acceptedSchemes'>,
): Candidate['secret'] | Fault[] {
  if (password !== '' && hash !== '')
    return [{ field: 'password', reason: 'and password_hash are both given; leave one empty' }]
  if (password !== '') {
    const faults = findPasswordFaults(password, policy)
    return faults.length > 0 ? faults : { password }
  }
  if (hash === '') return [{ field: 'password', reason: 'or password_hash must be given' }]
  if (hash === RESET_REQUIRED) return { hash }
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

const FORMS = new Intl.ListFormat('en', { type: 'disjunction' }).format([
  ...Object.values(PASSWORD_SCHEMES).map(({ form }) => form),
  `${RESET_REQUIRED} for a user who has to reset the password`,
])
