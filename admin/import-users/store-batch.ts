import { AppError } from '@latchkey/shared/app-error.ts'
import { type Queryable, violatedIndex } from '@latchkey/shared/database/database.ts'
import { fold } from '@latchkey/shared/users/user.ts'
import type { AdminContext } from '../admin-context.ts'
import type { Fault } from '../fault.ts'
import type { Candidate } from './parse-row.ts'
import { createUserImportRepository, type Holder, type ImportedUser } from './user-import-repository.ts'

export interface RefusedLine {
  line: number
  faults: readonly Fault[]
}

export interface BatchResult {
  imported: number
  /** Lines whose user, with the same username and e-mail, was in the database before this import. */
  alreadyThere: number[]
  refused: RefusedLine[]
}

/**
 * Twelve hexadecimal digits with which all userids of an import begin. They tell users of earlier lines from users who
 * were in the database before, without keeping every name in memory.
 */
export const createUseridPrefix = (): string => crypto.randomUUID().replaceAll('-', '').slice(0, 12)

const FIELDS = ['username', 'email'] as const

/** Stores the valid part of a batch in one transaction; reports every other line. */
export async function storeBatch(
  context: AdminContext,
  batch: readonly Candidate[],
  useridPrefix: string,
): Promise<BatchResult> {
  const result: BatchResult = { imported: 0, alreadyThere: [], refused: [] }
  const free = await pickFree(context, batch, { useridPrefix, result })
  const users = await Promise.all(free.map((candidate) => toUser(context, candidate, useridPrefix)))
  if (await tryToStore(context, users)) {
    result.imported += users.length
    return result
  }
  // Another client took a name at the same time, or the database compares letters differently: find the line.
  for (const [index, user] of users.entries()) {
    const line = free[index]?.line ?? 0
    if (await tryToStore(context, [user])) result.imported += 1
    else result.refused.push({ line, faults: [REFUSED_BY_DATABASE] })
  }
  return result
}

const REFUSED_BY_DATABASE: Fault = {
  field: 'row',
  reason: 'was refused by the database: the username or e-mail is in use, or a value does not fit',
}

/** The candidates whose username and e-mail are free; the others go into the result. */
async function pickFree(
  { db }: AdminContext,
  batch: readonly Candidate[],
  { useridPrefix, result }: { useridPrefix: string; result: BatchResult },
): Promise<Candidate[]> {
  const holders = await findHolders(db, batch)
  const lines: ByField<number> = { username: new Map(), email: new Map() }
  const free: Candidate[] = []
  for (const candidate of batch) {
    if (isAlreadyThere(candidate, holders, useridPrefix)) {
      result.alreadyThere.push(candidate.line)
      continue
    }
    const faults = findTaken(candidate, { holders, lines, useridPrefix })
    if (faults.length > 0) {
      result.refused.push({ line: candidate.line, faults })
      continue
    }
    for (const field of FIELDS) lines[field].set(fold(candidate[field]), candidate.line)
    free.push(candidate)
  }
  return free
}

/** Values by a username or e-mail in lower case. */
type ByField<Value> = Record<(typeof FIELDS)[number], Map<string, Value>>

async function findHolders(db: Queryable, batch: readonly Candidate[]): Promise<ByField<Holder>> {
  const repository = createUserImportRepository(db)
  const usernames = batch.map(({ username }) => username)
  const emails = batch.map(({ email }) => email)
  return {
    username: byFolded('username', await repository.findHolders('username', usernames)),
    email: byFolded('email', await repository.findHolders('email', emails)),
  }
}

/** Whether one user, from before this import, has both the username and the e-mail. */
function isAlreadyThere(
  { username, email }: Candidate,
  holders: ByField<Holder>,
  useridPrefix: string,
): boolean {
  const holder = holders.username.get(fold(username))
  if (!holder || holder.isDeleted || isOwn(holder, useridPrefix)) return false
  return holder.userid === holders.email.get(fold(email))?.userid
}

function findTaken(
  candidate: Candidate,
  {
    holders,
    lines,
    useridPrefix,
  }: { holders: ByField<Holder>; lines: ByField<number>; useridPrefix: string },
): Fault[] {
  return FIELDS.flatMap((field) => {
    const value = fold(candidate[field])
    const reason = describeTaken(holders[field].get(value), useridPrefix)
    const line = lines[field].get(value)
    if (reason) return [{ field, reason }]
    return line === undefined ? [] : [{ field, reason: `is also that of line ${line}` }]
  })
}

const byFolded = (field: 'username' | 'email', holders: readonly Holder[]): Map<string, Holder> =>
  new Map(holders.map((holder) => [fold(holder[field] ?? ''), holder]))

const isOwn = ({ userid }: Holder, useridPrefix: string): boolean =>
  userid.replaceAll('-', '').startsWith(useridPrefix)

function describeTaken(holder: Holder | undefined, useridPrefix: string): string | undefined {
  if (!holder) return undefined
  if (isOwn(holder, useridPrefix)) return 'is also that of an earlier line'
  return holder.isDeleted ? 'belongs to a deleted user' : 'belongs to another user'
}

async function toUser(
  { hashPassword }: AdminContext,
  { line: _, secret, ...candidate }: Candidate,
  useridPrefix: string,
): Promise<ImportedUser> {
  const random = crypto.randomUUID().slice(14)
  return {
    ...candidate,
    userid: `${useridPrefix.slice(0, 8)}-${useridPrefix.slice(8)}-${random}`,
    passwordHash: 'hash' in secret ? secret.hash : await hashPassword(secret.password),
  }
}

/** Returns false when the database refused one of the users, and thus stored none. */
async function tryToStore({ db }: AdminContext, users: readonly ImportedUser[]): Promise<boolean> {
  if (users.length === 0) return true
  try {
    await db.transaction((transaction) => createUserImportRepository(transaction).insertAll(users))
    return true
  } catch (error) {
    const isRefusal =
      violatedIndex(db, error) || (error instanceof AppError && error.code === 'invalid_input')
    if (!isRefusal) throw error
    return false
  }
}
