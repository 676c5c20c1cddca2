import type { PasswordPolicy } from '@latchkey/shared/passwords/password-policy.ts'
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

const SHA1 = /^[0-9a-f]{40}$/i
const ARGON2ID =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,86}$/
/** Every login with an imported hash costs this much, so it is limited: 256 MiB and ten passes. */
const MAX_MEMORY_KIB = 262_144
const MAX_PASSES = 10

/** Parses a record; returns every fault when it is invalid. */
export function parseRow(
  line: number,
  cells: readonly string[],
  { columns: { indexes, properties }, policy }: { columns: Columns; policy: PasswordPolicy },
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
  const secret = parseSecret(cellOf('password'), cellOf('password_hash'), policy)
  const faults = [
    ...findAccountFaults(fields),
    ...(Array.isArray(secret) ? secret : []),
    ...given.flatMap(({ name, value }) => findPropertyFaults(name, value)),
  ]
  if (faults.length > 0 || Array.isArray(secret)) return faults
  return { line, ...fields, name: fields.name || null, role: fields.role || null, secret, properties: given }
}

function parseSecret(password: string, hash: string, policy: PasswordPolicy): Candidate['secret'] | Fault[] {
  if (password !== '' && hash !== '')
    return [{ field: 'password', reason: 'and password_hash are both given; leave one empty' }]
  if (password !== '') {
    const faults = findPasswordFaults(password, policy)
    return faults.length > 0 ? faults : { password }
  }
  if (hash === '') return [{ field: 'password', reason: 'or password_hash must be given' }]
  const fault = describeHashFault(hash)
  if (fault) return [{ field: 'password_hash', reason: fault }]
  return { hash: SHA1.test(hash) ? hash.toLowerCase() : hash }
}

function describeHashFault(hash: string): string | undefined {
  if (SHA1.test(hash)) return undefined
  const [, memoryKib, passes, lanes] = ARGON2ID.exec(hash) ?? []
  if (memoryKib === undefined) return 'must be SHA-1 as 40 hexadecimal digits, or an argon2id PHC string'
  const isWithin = Number(memoryKib) <= MAX_MEMORY_KIB && Number(passes) <= MAX_PASSES
  const isPossible = Number(passes) > 0 && Number(lanes) > 0 && Number(memoryKib) >= 8 * Number(lanes)
  if (!isWithin || !isPossible)
    return `has argon2id parameters out of bounds: at most m=${MAX_MEMORY_KIB}, t=${MAX_PASSES}`
  return undefined
}
