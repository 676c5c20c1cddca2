import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import {
  createFactorRepository,
  type Factor,
  storeFactorKinds,
} from '@latchkey/shared/users/factor-repository.ts'
import { requireOtherWayIn } from '@latchkey/shared/users/identity-repository.ts'
import { roleOf } from '@latchkey/shared/users/user.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { SecondFactor } from './second-factor.ts'

export interface FactorList {
  factors: Factor[]
  /** The number of recovery codes that are left. */
  recoveryCodes: number
}

/** Lists the confirmed factors of a user. */
export async function listFactors({ db }: SecondFactor, userid: string): Promise<FactorList> {
  const [factors, codes] = await Promise.all([
    findConfirmed(db, userid),
    createFactorRepository(db).findCodes(userid),
  ])
  return { factors, recoveryCodes: codes.length }
}

/** Names a factor. Throws `factor_not_found`, and what the guard throws. */
export const renameFactor = (
  { guard }: SecondFactor,
  { id, name }: { id: string; name: string },
  client: LoggedInClient,
): Promise<void> =>
  guard.change('renameFactor', client, undefined, async (db, { userid }) => {
    if (!(await createFactorRepository(db).rename(id, userid, name))) throw factorNotFound()
  })

/** Removes a factor. Throws `factor_not_found`, `last_factor` where the role needs one, and what the guard throws. */
export const removeFactor = (
  { guard, usersIn, settings, notify }: SecondFactor,
  id: string,
  client: LoggedInClient,
): Promise<void> =>
  guard.change('removeFactor', client, undefined, async (db, user) => {
    const { userid } = user
    const { audit } = client
    const factors = createFactorRepository(db)
    const confirmed = await findConfirmed(db, userid)
    const removed = confirmed.find((factor) => factor.id === id)
    if (!removed || !(await factors.delete(id, userid))) throw factorNotFound()
    await requireOtherWayIn(db, user, id)
    const isLast = confirmed.length === 1
    if (isLast && settings.roles.includes(roleOf(user))) throw lastFactor()
    await Promise.all([
      storeFactorKinds(factors, usersIn(db), userid),
      audit.write(db, { name: 'factor.removed', userid, reason: removed.kind }),
      notify(db, user, { template: 'factor-removed', isLast }, audit.address),
    ])
  })

const findConfirmed = async (db: Queryable, userid: string): Promise<Factor[]> =>
  (await createFactorRepository(db).find(userid)).filter(({ confirmedAt }) => confirmedAt)

const factorNotFound = () => new AppError('factor_not_found', 'You have no such factor')

const lastFactor = () => new AppError('last_factor', 'Your role needs a second factor')
