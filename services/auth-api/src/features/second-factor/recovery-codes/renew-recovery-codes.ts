import type { Queryable } from '@latchkey/shared/database/database.ts'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import { createFactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { z } from 'zod'
import type { LoggedInClient } from '../../../http/client.ts'
import { type ChallengePurpose, challengeRefused } from '../challenges.ts'
import type { SecondFactor } from '../second-factor.ts'

/** New recovery codes, and the challenge that confirms that they are stored. */
export interface NewCodes {
  codes: string[]
  challenge: string
}

const PURPOSE: ChallengePurpose = 'latchkey-recovery-codes'
const SEALED_AS = 'new recovery codes'

/** The content of the challenge: the new codes, and the names of those that they replace. */
const Renewal = z.object({ codes: z.array(z.string()), replaces: z.array(z.string()) })

/**
 * Creates recovery codes, which replace those of before once the challenge confirms that they are stored. Throws
 * `factor_not_found` for a user who has no factor to replace, and what the guard throws.
 */
export async function beginRecoveryCodeRenewal(
  { db, guard, challenges, secrets, recoveryCodes }: SecondFactor,
  client: LoggedInClient,
): Promise<NewCodes> {
  const { user, begunUnder } = await guard.begin('renewRecoveryCodes', client)
  if (!guard.hasFactor(user)) throw nothingToReplace()
  const codes = recoveryCodes.create()
  const renewal: z.input<typeof Renewal> = { codes, replaces: await nameCodes(db, user.userid) }
  const content = await secrets.seal(user.userid, SEALED_AS, JSON.stringify(renewal))
  const challenge = await challenges.issue(PURPOSE, { user, begunUnder, content })
  return { codes, challenge }
}

/**
 * Replaces the recovery codes by those that the challenge was issued with. Throws `challenge_refused`, `factor_not_found`, and what
 * the guard throws.
 */
export async function verifyRecoveryCodeRenewal(
  { transaction, guard, lockUser, challenges, secrets, recoveryCodes, notify, localNow }: SecondFactor,
  text: string,
  { claims, audit }: LoggedInClient,
): Promise<void> {
  const challenge = await challenges.read(text, PURPOSE)
  await transaction(async (db) => {
    const user = await challenges.complete(db, await lockUser(db, claims), challenge, claims)
    if (!guard.hasFactor(user)) throw nothingToReplace()
    const { userid } = user
    const content = await secrets.open(userid, SEALED_AS, challenge.content ?? '')
    if (content === undefined) throw challengeRefused()
    const { codes, replaces } = Renewal.parse(JSON.parse(content))
    // Some may have been used since. Newer ones, of another renewal, are not replaced.
    if (!(await nameCodes(db, userid)).every((name) => replaces.includes(name))) throw challengeRefused()
    await recoveryCodes.replace(createFactorRepository(db), userid, codes, new Date(localNow()))
    await audit.write(db, { name: 'recovery_codes.renewed', userid })
    await notify(db, user, { template: 'recovery-codes-renewed' }, audit.address)
  })
}

/** Names the recovery codes that a user has, by the start of their random ids. */
const nameCodes = async (db: Queryable, userid: string): Promise<string[]> =>
  (await createFactorRepository(db).findCodes(userid)).map(({ id }) => id.slice(0, 8))

const nothingToReplace = () =>
  new AppError('factor_not_found', 'Recovery codes replace a second factor, and you have none', {
    reason: 'no_factor',
  })
