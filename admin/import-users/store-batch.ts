import { type Database, type Queryable, violatedIndex } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import {
  createManyUsersRepository,
  type Holder,
  type ImportedUser,
} from '@latchkey/shared/users/many-users-repository.ts'
import { fold } from '@latchkey/shared/users/user.ts'
import type { AdminContext } from '../admin-context.ts'
import type { Fault } from '../fault.ts'
import type { Candidate } from './parse-row.ts'

export interface RefusedLine {
  line: number
  faults: readonly Fault[]
}

export interface BatchResult {
  imported: number
  /** The number of lines whose username and e-mail one user of the database has already. */
  alreadyThere: number
  refused: RefusedLine[]
}

const NAMES = ['username', 'email'] as const

/** Stores the users of a batch whose names are free, in one transaction. No two of a batch share a name. */
export async function storeBatch(
  { db, hashPassword }: AdminContext,
  batch: readonly Candidate[],
): Promise<BatchResult> {
  const holders = await findHolders(db, batch)
  const missing = batch.filter((candidate) => !isAlreadyThere(candidate, holders))
  const taken = missing
    .map((candidate) => ({ line: candidate.line, faults: findTaken(candidate, holders) }))
    .filter(({ faults }) => faults.length > 0)
  const takenLines = new Set(taken.map(({ line }) => line))
  const free = missing.filter(({ line }) => !takenLines.has(line))
  const users = await Promise.all(free.map((candidate) => toUser(candidate, hashPassword)))
  const refused = await insert(db, users)
  return {
    imported: users.length - refused.length,
    alreadyThere: batch.length - missing.length,
    refused: [...taken, ...refused],
  }
}

/** The users of the database by their folded names. */
type Holders = Record<(typeof NAMES)[number], Map<string, Holder>>

async function findHolders(db: Queryable, batch: readonly Candidate[]): Promise<Holders> {
  const repository = createManyUsersRepository(db)
  const find = async (field: (typeof NAMES)[number]) => {
    const values = batch.flatMap((candidate) => candidate[field] ?? [])
    const holders = await repository.findHolders(field, values)
    return new Map(holders.map((holder) => [fold(holder[field] ?? ''), holder]))
  }
  return { username: await find('username'), email: await find('email') }
}

function isAlreadyThere({ username, email }: Candidate, holders: Holders): boolean {
  const holder = holders.username.get(fold(username))
  return holder !== undefined && !holder.isDeleted && fold(holder.email ?? '') === fold(email ?? '')
}

const findTaken = (candidate: Candidate, holders: Holders): Fault[] =>
  NAMES.flatMap((field) => {
    const holder = holders[field].get(fold(candidate[field] ?? ''))
    if (!holder) return []
    return [{ field, reason: holder.isDeleted ? 'belongs to a deleted user' : 'belongs to another user' }]
  })

/** A user, and the line of the file that has it. */
type ImportedLine = ImportedUser & Pick<Candidate, 'line'>

async function toUser(
  { secret, ...candidate }: Candidate,
  hashPassword: AdminContext['hashPassword'],
): Promise<ImportedLine> {
  const passwordHash = 'hash' in secret ? secret.hash : await hashPassword(secret.password)
  return { ...candidate, userid: crypto.randomUUID(), passwordHash }
}

/** Inserts all users, or, where the database refuses one of them, each by itself; returns the refused lines. */
async function insert(db: Database, users: readonly ImportedLine[]): Promise<RefusedLine[]> {
  const [first, ...others] = users
  if (!first) return []
  try {
    await db.transaction((transaction) => createManyUsersRepository(transaction).insertAll(users))
    return []
  } catch (error) {
    const isRefused =
      violatedIndex(db, error) || (error instanceof AppError && error.code === 'invalid_input')
    if (!isRefused) throw error
    if (others.length === 0) return [{ line: first.line, faults: [REFUSED_BY_DATABASE] }]
    const refused: RefusedLine[] = []
    for (const user of users) refused.push(...(await insert(db, [user])))
    return refused
  }
}

/** Another client took a name at the same time, or the database compares letters differently than `fold`. */
const REFUSED_BY_DATABASE: Fault = {
  field: 'row',
  reason: 'was refused by the database: the username or e-mail is in use, or a value does not fit',
}
