import type { Clock } from '@latchkey/shared/clock.ts'
import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import type { UserRepository } from '@latchkey/shared/users/user-repository.ts'
import type { CodeSecrets } from '../../one-time-codes/code-secrets.ts'
import type { Caller } from '../../tokens/claims.ts'
import { changeRefused } from './change-refused.ts'
import type { ChangeRepository, EmailChange } from './change-repository.ts'
import type { MakeEmailChange } from './make-change.ts'

export interface ConfirmChangeDependencies {
  transaction: Database['transaction']
  usersOf: (transaction: Queryable) => Pick<UserRepository, 'lock' | 'findById'>
  changes: Pick<ChangeRepository, 'findNewest' | 'countAttempt'>
  changesOf: (transaction: Queryable) => Pick<ChangeRepository, 'use'>
  /** The user of a token; throws `invalid_token` when the token has ended. */
  requireValid: (transaction: Queryable, claims: Caller['claims']) => Promise<User>
  makeEmailChange: MakeEmailChange
  secrets: Pick<CodeSecrets, 'isHashOf'>
  attempts: number
  clock: Clock
}

export type ConfirmChange = ReturnType<typeof createConfirmChange>

/**
 * Makes a requested change of e-mail by the code of its mail; returns the user as it now is. Throws
 * `email_change_refused` for every fault of the code, and `email_taken` when the address was taken since the request.
 */
export function createConfirmChange(dependencies: ConfirmChangeDependencies) {
  const { transaction, usersOf, changes, changesOf, requireValid, makeEmailChange } = dependencies
  const { secrets, attempts, clock } = dependencies

  async function findConfirmed(userid: string, code: string): Promise<EmailChange> {
    const change = await changes.findNewest(userid)
    if (!change) throw changeRefused()
    // The database counts before the code is compared, so that concurrent guesses cannot exceed `attempts`.
    if (!(await changes.countAttempt(change.id, attempts, new Date(clock())))) throw changeRefused()
    if (!secrets.isHashOf(change.codeHash, change.id, code)) throw changeRefused()
    return change
  }

  return async (caller: Caller, code: string): Promise<User> => {
    const { claims } = caller
    const change = await findConfirmed(claims.sub, code)
    return transaction(async (db) => {
      await usersOf(db).lock(claims.sub)
      const user = await requireValid(db, claims)
      if (!(await changesOf(db).use(change.id, new Date(clock())))) throw changeRefused()
      await makeEmailChange(db, user, change.email, caller)
      return (await usersOf(db).findById(claims.sub)) ?? user
    })
  }
}
