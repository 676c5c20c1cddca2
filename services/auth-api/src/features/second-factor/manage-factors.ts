import type { Database, Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { SendNotice } from '@latchkey/shared/mail/outbox/mail-notices.ts'
import type { Clock } from '@latchkey/shared/time/clock.ts'
import { createFactorRepository, type Factor } from '@latchkey/shared/users/factor-repository.ts'
import type { LoggedInClient } from '../../http/client.ts'
import type { LockUser } from '../../tokens/token-validity.ts'
import type { AccountGuard } from '../account/account-guard.ts'
import { challengeRefused } from './challenges.ts'
import type { SecondFactor } from './second-factor.ts'

export interface ManageFactorsDependencies {
  db: Queryable
  transaction: Database['transaction']
  guard: AccountGuard
  lockUser: LockUser
  secondFactor: Pick<SecondFactor, 'remove' | 'recoveryCodes' | 'secrets' | 'challenges'>
  notify: SendNotice
  localNow: Clock
}

/** New recovery codes, and what confirms that they are stored. */
export interface NewCodes {
  recoveryCodes: string[]
  challenge: string
}

/** Creates the functions that list, rename and remove the factors of a user. Each but `list` throws what the guard throws. */
export function createManageFactors(dependencies: ManageFactorsDependencies) {
  const { db, transaction, guard, lockUser, secondFactor, notify, localNow } = dependencies
  const { recoveryCodes, secrets, challenges } = secondFactor

  return {
    /** Lists the confirmed factors of a user, and counts the recovery codes that are left. */
    async list(userid: string): Promise<{ factors: Factor[]; recoveryCodes: number }> {
      const factors = createFactorRepository(db)
      const [found, codes] = await Promise.all([factors.find(userid), factors.findCodes(userid)])
      return { factors: found.filter(({ confirmedAt }) => confirmedAt), recoveryCodes: codes.length }
    },

    /** Throws `factor_not_found`. */
    rename: (client: LoggedInClient, id: string, name: string): Promise<void> =>
      guard.change('renameFactor', client, undefined, async (db, { userid }) => {
        if (!(await createFactorRepository(db).rename(id, userid, name))) throw noSuchFactor()
      }),

    /** Throws `factor_not_found`, and `last_factor` where the role needs one. */
    remove: (client: LoggedInClient, id: string): Promise<void> =>
      guard.change('removeFactor', client, undefined, async (db, user) => {
        if (!(await secondFactor.remove(db, user, id, client.audit))) throw noSuchFactor()
      }),

    /**
     * Creates recovery codes, which replace those of before once the challenge confirms that they are stored. Throws
     * `factor_not_found` for a user who has no factor to replace.
     */
    async createRecoveryCodes(client: LoggedInClient): Promise<NewCodes> {
      const { user, begunUnder } = await guard.begin('renewRecoveryCodes', client)
      if (!guard.hasFactor(user)) throw nothingToReplace()
      const created = recoveryCodes.create()
      const codes = await secrets.sealNewCodes(user.userid, created)
      const replaces = await nameCodes(db, user.userid)
      const subject = { user, begunUnder, codes, replaces }
      const challenge = await challenges.issue('latchkey-recovery-codes', subject)
      return { recoveryCodes: created, challenge }
    },

    /** Replaces the recovery codes by those that the challenge was issued with. Throws `challenge_refused`. */
    async confirmRecoveryCodes({ claims, audit }: LoggedInClient, text: string): Promise<void> {
      const challenge = await challenges.read(text, 'latchkey-recovery-codes')
      await transaction(async (db) => {
        const user = await challenges.complete(db, await lockUser(db, claims), challenge, claims)
        if (!guard.hasFactor(user)) throw nothingToReplace()
        const { userid } = user
        const codes = await secrets.openNewCodes(userid, challenge.codes ?? '')
        // Some may have been used since. Newer ones, of another renewal, are not replaced.
        const present = await nameCodes(db, userid)
        if (!codes || !present.every((name) => challenge.replaces?.includes(name))) throw challengeRefused()
        await recoveryCodes.replace(createFactorRepository(db), userid, codes, new Date(localNow()))
        await audit.write(db, { name: 'recovery_codes.renewed', userid })
        await notify(db, user, { template: 'recovery-codes-renewed' }, audit.address)
      })
    },
  }
}

/** The recovery codes that a user has, by the start of their random ids. */
const nameCodes = async (db: Queryable, userid: string): Promise<string[]> =>
  (await createFactorRepository(db).findCodes(userid)).map(({ id }) => id.slice(0, 8))

const nothingToReplace = () =>
  new AppError('factor_not_found', 'Recovery codes replace a second factor, and you have none; add one first')

const noSuchFactor = () =>
  new AppError('factor_not_found', 'You have no such factor; GET /profile/factors lists them')
