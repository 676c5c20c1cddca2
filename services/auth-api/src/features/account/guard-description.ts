import type { Queryable } from '@latchkey/shared/database/database.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import type { Config } from '../../config.ts'
import type { CodeSecrets } from '../one-time-codes/code-secrets.ts'

export interface GuardDescriptionDependencies {
  db: Queryable
  codeSecrets: { guard: Pick<CodeSecrets, 'hash' | 'isHashOf'> }
}

export type GuardDescription = ReturnType<typeof createGuardDescription>

/** Creates the functions that describe what guards an account: its password, by a keyed hash of the stored one, and its factors. */
export function createGuardDescription(
  { mode }: Config['secondFactor'],
  { db, codeSecrets: { guard: secrets } }: GuardDescriptionDependencies,
) {
  const hasFactor = (user: User): boolean => mode === 'on' && factorKindsOf(user).length > 0

  async function findFactors(queryable: Queryable, user: User): Promise<string[]> {
    if (!hasFactor(user)) return []
    const found = await createFactorRepository(queryable).find(user.userid)
    // Of random ids, eight digits tell the few factors of a user apart.
    return found.filter(({ confirmedAt }) => confirmedAt).map(({ id }) => id.slice(0, 8))
  }

  return {
    /** True for a user who has a second factor. */
    hasFactor,

    /** Describes what guards the account of a user now. */
    describe: async (user: User): Promise<string> =>
      [secrets.hash(user.userid, user.passwordHash), ...(await findFactors(db, user))].join(' '),

    /** True where the password of a locked user is the described one, and no factor was added since. */
    async isDescribedBy(transaction: Queryable, user: User, description = ''): Promise<boolean> {
      const [hash = '', ...factors] = description.split(' ')
      if (hash === '' || !secrets.isHashOf(hash, user.userid, user.passwordHash)) return false
      return (await findFactors(transaction, user)).every((factor) => factors.includes(factor))
    },
  }
}
