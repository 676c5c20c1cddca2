import { type Database, type Queryable, violatedIndex } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { TextSealer } from '@latchkey/shared/secrets/sealed-text.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { RECOVERY_PURPOSE, TOTP_PURPOSE, toSealedContent } from '@latchkey/shared/users/factor-sealer.ts'
import { createIdentityRepository } from '@latchkey/shared/users/identity-repository.ts'
import {
  createManyUsersRepository,
  type Holder,
  type ImportedUser,
} from '@latchkey/shared/users/many-users-repository.ts'
import { createMetadataRepository } from '@latchkey/shared/users/metadata.ts'
import { hashRecoveryCode } from '@latchkey/shared/users/recovery-code.ts'
import { fold } from '@latchkey/shared/users/user.ts'
import { FACTORS_PROPERTY } from '@latchkey/shared/users/user-factors.ts'
import type { AdminContext } from '../admin-context.ts'
import type { Fault } from '../fault.ts'
import type { Candidate } from './parse-row.ts'

export interface RefusedLine {
  line: number
  faults: readonly Fault[]
}

export interface BatchResult {
  /** The lines that are stored, or would be. */
  imported: readonly Candidate[]
  /** The number of lines whose username and e-mail one user of the database has already. */
  alreadyThere: number
  refused: RefusedLine[]
}

const NAMES = ['username', 'email', 'userid'] as const

/** What an import does beside reading a file. */
export interface StoreOptions {
  /** Nothing is stored. */
  isDryRun: boolean
  /** Seals secrets of second factors; undefined where FACTOR_SECRET is not set. */
  sealer: TextSealer | undefined
}

/** Stores the users of a batch whose names are free, in one transaction. No two of a batch share a name. */
export async function storeBatch(
  context: AdminContext,
  batch: readonly Candidate[],
  options: StoreOptions,
): Promise<BatchResult> {
  const { db } = context
  const holders = await findHolders(db, batch)
  const missing = batch.filter((candidate) => !isAlreadyThere(candidate, holders))
  const taken = missing
    .map((candidate) => ({ line: candidate.line, faults: findTaken(candidate, holders) }))
    .filter(({ faults }) => faults.length > 0)
  const takenLines = new Set(taken.map(({ line }) => line))
  const free = missing.filter(({ line }) => !takenLines.has(line))
  const refused = options.isDryRun
    ? []
    : await insert(db, await Promise.all(free.map((candidate) => toUser(candidate, context, options))))
  const refusedLines = new Set(refused.map(({ line }) => line))
  return {
    imported: free.filter(({ line }) => !refusedLines.has(line)),
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
  return { username: await find('username'), email: await find('email'), userid: await find('userid') }
}

/** A user whom an earlier run has stored, which may have made another username. */
function isAlreadyThere({ username, email, userid, deletedAt, isUsernameMade }: Candidate, holders: Holders) {
  const holder = isUsernameMade ? holders.email.get(fold(email ?? '')) : holders.username.get(fold(username))
  return (
    holder !== undefined &&
    holder.isDeleted === (deletedAt !== undefined) &&
    fold(holder.email ?? '') === fold(email ?? '') &&
    (userid ?? holder.userid) === holder.userid
  )
}

const findTaken = (candidate: Candidate, holders: Holders): Fault[] =>
  NAMES.flatMap((field) => {
    const holder = holders[field].get(fold(candidate[field] ?? ''))
    if (!holder) return []
    return [{ field, reason: holder.isDeleted ? 'belongs to a deleted user' : 'belongs to another user' }]
  })

/** A user, and the line of the file that has it. */
interface ImportedLine extends ImportedUser, Pick<Candidate, 'line' | 'metadata' | 'identities'> {
  /** The sealed secret of an authenticator app, and the sealed hashes of recovery codes. */
  app: { data: string; hashes: readonly string[] } | undefined
}

async function toUser(
  { secret, totpSecret, recoveryCodes, properties, createdAt = new Date(), ...candidate }: Candidate,
  { hashPassword }: AdminContext,
  { sealer }: StoreOptions,
): Promise<ImportedLine> {
  const userid = candidate.userid ?? crypto.randomUUID()
  const passwordHash = 'hash' in secret ? secret.hash : await hashPassword(secret.password)
  const app =
    sealer && totpSecret !== undefined ? await sealApp(sealer, userid, totpSecret, recoveryCodes) : undefined
  const factors = app ? [{ name: FACTORS_PROPERTY, value: 'totp' }] : []
  return { ...candidate, userid, passwordHash, createdAt, app, properties: [...properties, ...factors] }
}

async function sealApp(sealer: TextSealer, userid: string, secret: string, codes: readonly string[]) {
  const seal = (purpose: string, value: string) => sealer.seal(toSealedContent(userid, purpose, value))
  return {
    data: await seal(TOTP_PURPOSE, secret),
    hashes: await Promise.all(codes.map((code) => seal(RECOVERY_PURPOSE, hashRecoveryCode(code)))),
  }
}

/** Inserts users with everything that is theirs. */
async function insertAll(transaction: Queryable, users: readonly ImportedLine[]): Promise<void> {
  const now = new Date()
  await createManyUsersRepository(transaction).insertAll(users)
  await createMetadataRepository(transaction).importAll(
    users.flatMap(({ userid, metadata }) => (metadata ? [{ userid, metadata }] : [])),
  )
  await createIdentityRepository(transaction).importAll(
    users.flatMap(({ userid, identities }) => identities.map((identity) => ({ ...identity, userid }))),
    now,
  )
  await createFactorRepository(transaction).importAll(
    users.flatMap(({ userid, app }) => (app ? [{ userid, ...app }] : [])),
    now,
  )
}

/** Inserts all users, or, where the database refuses one of them, each by itself; returns the refused lines. */
async function insert(db: Database, users: readonly ImportedLine[]): Promise<RefusedLine[]> {
  const [first, ...others] = users
  if (!first) return []
  try {
    await db.transaction((transaction) => insertAll(transaction, users))
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
  reason:
    'was refused by the database: the username, e-mail, userid or an identity is in use, or a value does not fit',
}
