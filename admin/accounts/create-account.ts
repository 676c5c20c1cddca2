import { createUserRepository, type UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { AdminContext } from '../admin-context.ts'
import { type Fault, requireNoFaults } from '../fault.ts'
import { type AccountFields, findAccountFaults } from './account-fields.ts'
import { findPasswordFaults } from './password-faults.ts'
import { recordEvent } from './record-event.ts'

/** Stores a new user and returns its id; throws one error with every fault of the fields. */
export async function createAccount(
  { db, policy, hashPassword, localNow }: AdminContext,
  { password, ...fields }: AccountFields & { password: string },
): Promise<string> {
  const users = createUserRepository(db)
  const formFaults = findAccountFaults(fields)
  requireNoFaults('The user was not created', [
    ...formFaults,
    ...(await findTaken(users, fields, formFaults)),
    ...findPasswordFaults(password, policy),
  ])
  const passwordHash = await hashPassword(password)
  return db.transaction(async (transaction) => {
    const userid = await createUserRepository(transaction).insert({
      username: fields.username,
      email: fields.email,
      name: fields.name || null,
      role: fields.role || null,
      passwordHash,
    })
    await recordEvent(transaction, 'account.created', userid, localNow())
    return userid
  })
}

/** Looks up only well-formed values: a malformed one is refused already. */
async function findTaken(
  users: UserRepository,
  fields: AccountFields,
  formFaults: readonly Fault[],
): Promise<Fault[]> {
  const faults: Fault[] = []
  for (const field of ['username', 'email'] as const) {
    if (formFaults.some((fault) => fault.field === field)) continue
    const holder = await users.findByLogin(field, fields[field])
    if (holder)
      faults.push({ field, reason: holder.deletedAt ? 'belongs to a deleted user' : 'is already in use' })
  }
  return faults
}
