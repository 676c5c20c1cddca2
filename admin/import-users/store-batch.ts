import { AppError } from '@latchkey/shared/app-error.ts'
import { violatedIndex } from '@latchkey/shared/database/database.ts'
import { fold } from '@latchkey/shared/users/fold.ts'
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
  /** Lines whose user, with this username and this e-mail, was in the database before this import. */
  alreadyThere: number[]
  refused: RefusedLine[]
}

/**
 * Twelve hexadecimal digits that the ids of one import begin with. By them it knows its own earlier lines among the
 * holders of a name, without remembering a hundred thousand names.
 */
export const createImportMark = (): string => crypto.randomUUID().replaceAll('-', '').slice(0, 12)

const FIELDS = ['username', 'email'] as const

/** Stores what can be stored of a batch, in one transaction, and says what became of every other line. */
export async function storeBatch(
  context: AdminContext,
  batch: readonly Candidate[],
  mark: string,
): Promise<BatchResult> {
  const result: BatchResult = { imported: 0, alreadyThere: [], refused: [] }
  const free = await pickFree(context, batch, { mark, result })
  const users = await Promise.all(free.map((candidate) => toUser(context, candidate, mark)))
  if (await tryToStore(context, users)) {
    result.imported += users.length
    return result
  }
  // Somebody else was faster with a name, or the database compares a letter otherwise: find the line.
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

/** The candidates whose names nobody holds; the others go into the result. */
async function pickFree(
  { db }: AdminContext,
  batch: readonly Candidate[],
  { mark, result }: { mark: string; result: BatchResult },
): Promise<Candidate[]> {
  const repository = createUserImportRepository(db)
  const holders = {
    username: byFolded(
      'username',
      await repository.findHolders(
        'username',
        batch.map(({ username }) => username),
      ),
    ),
    email: byFolded(
      'email',
      await repository.findHolders(
        'email',
        batch.map(({ email }) => email),
      ),
    ),
  }
  const lines = { username: new Map<string, number>(), email: new Map<string, number>() }
  return batch.filter((candidate) => {
    const byUsername = holders.username.get(fold(candidate.username))
    const byEmail = holders.email.get(fold(candidate.email))
    if (byUsername && byUsername.userid === byEmail?.userid && isFromBefore(byUsername, mark)) {
      result.alreadyThere.push(candidate.line)
      return false
    }
    const faults = FIELDS.flatMap((field) => {
      const reason = describeTaken(holders[field].get(fold(candidate[field])), mark)
      const line = lines[field].get(fold(candidate[field]))
      if (reason) return [{ field, reason }]
      return line === undefined ? [] : [{ field, reason: `is also that of line ${line}` }]
    })
    if (faults.length > 0) {
      result.refused.push({ line: candidate.line, faults })
      return false
    }
    for (const field of FIELDS) lines[field].set(fold(candidate[field]), candidate.line)
    return true
  })
}

const byFolded = (field: 'username' | 'email', holders: readonly Holder[]): Map<string, Holder> =>
  new Map(holders.map((holder) => [fold(holder[field] ?? ''), holder]))

const isOwn = ({ userid }: Holder, mark: string): boolean => userid.replaceAll('-', '').startsWith(mark)
const isFromBefore = (holder: Holder, mark: string): boolean => !holder.isDeleted && !isOwn(holder, mark)

function describeTaken(holder: Holder | undefined, mark: string): string | undefined {
  if (!holder) return undefined
  if (isOwn(holder, mark)) return 'is also that of an earlier line'
  return holder.isDeleted ? 'belongs to a deleted user' : 'belongs to another user'
}

async function toUser(
  { hashPassword }: AdminContext,
  { line: _, secret, ...candidate }: Candidate,
  mark: string,
): Promise<ImportedUser> {
  const random = crypto.randomUUID().slice(14)
  return {
    ...candidate,
    userid: `${mark.slice(0, 8)}-${mark.slice(8)}-${random}`,
    passwordHash: 'hash' in secret ? secret.hash : await hashPassword(secret.password),
  }
}

/** False when the database refuses one of them, and so stored none. */
async function tryToStore({ db }: AdminContext, users: readonly ImportedUser[]): Promise<boolean> {
  if (users.length === 0) return true
  try {
    await db.transaction((transaction) => createUserImportRepository(transaction).insertAll(users))
    return true
  } catch (error) {
    const isRefusal = violatedIndex(error) || (error instanceof AppError && error.code === 'invalid_input')
    if (!isRefusal) throw error
    return false
  }
}
