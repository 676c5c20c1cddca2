import type { TextSealer } from '@latchkey/shared/secrets/sealed-text.ts'
import { createFactorRepository, type Factor, SEALED } from '@latchkey/shared/users/factor-repository.ts'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import {
  createSealedTextRepository,
  FIRST,
  type SealedText,
} from '@latchkey/shared/users/sealed-text-repository.ts'
import type { User } from '@latchkey/shared/users/user.ts'
import { FACTORS_PROPERTY, factorKindsOf } from '@latchkey/shared/users/user-factors.ts'
import { revokeUserTokens } from '@latchkey/shared/users/valid-from.ts'
import type { AdminContext } from '../admin-context.ts'
import { formatTable } from '../console/format-table.ts'
import { requireNoFaults } from '../fault.ts'
import { findLineFaults } from './ban-account.ts'
import { recordEvent } from './record-event.ts'
import { withLockedAccount } from './with-locked-account.ts'

/**
 * Removes every second factor and recovery code of a user, and revokes every token issued so far. The reason is recorded in the
 * audit trail.
 */
export async function removeAccountFactors(
  { db, localNow, notify }: AdminContext,
  login: string,
  reason: string,
): Promise<User> {
  requireNoFaults('No factor was removed', findReasonFaults(reason))
  return withLockedAccount(db, login, async (users, user, transaction) => {
    const { userid } = user
    const factors = createFactorRepository(transaction)
    if (factorKindsOf(user).length === 0 && (await factors.find(userid)).length === 0)
      throw new Error(`${user.username} has no second factor`)
    await factors.deleteAll(userid)
    await users.setProperty(userid, FACTORS_PROPERTY, null)
    await revokeUserTokens(users, user, localNow())
    await recordEvent(transaction, 'factors.removed', userid, localNow(), reason.trim())
    await notify(transaction, user, { template: 'factor-removed', isLast: true }, undefined)
  })
}

function findReasonFaults(reason: string) {
  if (reason.trim() === '')
    return [{ field: 'reason', reason: 'must not be empty, for example: lost phone, ticket 4711' }]
  return findLineFaults(reason.trim())
}

/** Describes the factors of a user, and how many recovery codes are left. */
export function describeFactors(factors: readonly Factor[], recoveryCodes: number): string {
  if (factors.length === 0) return 'The user has no second factor.'
  const rows = factors.map(({ kind, name = '', createdAt, confirmedAt, lastUsedAt }) => [
    kind,
    name,
    createdAt.toISOString(),
    confirmedAt ? (lastUsedAt?.toISOString() ?? 'never') : 'not confirmed',
  ])
  return `${formatTable(['kind', 'name', 'added', 'last used'], rows)}\nRecovery codes left: ${recoveryCodes}`
}

export interface Resealed {
  resealed: number
  /** The number of texts that open with neither secret. */
  lost: number
}

/** Seals by FACTOR_SECRET what the previous one has sealed, in every row. */
export async function resealFactors(
  { db }: Pick<AdminContext, 'db'>,
  { secret, previousSecret }: { secret: Uint8Array; previousSecret: Uint8Array | undefined },
): Promise<Resealed> {
  const sealer = createFactorSealer(secret, previousSecret)
  const counts = { resealed: 0, lost: 0 }
  for (const column of SEALED) {
    const texts = createSealedTextRepository(db, column)
    let batch = await texts.findAfter(FIRST)
    while (batch.length > 0) {
      for (const text of batch) await resealText(sealer, texts, text, counts)
      batch = await texts.findAfter(batch.at(-1)?.id ?? '')
    }
  }
  return counts
}

async function resealText(
  sealer: TextSealer,
  texts: ReturnType<typeof createSealedTextRepository>,
  text: SealedText,
  counts: Resealed,
): Promise<void> {
  const resealed = await sealer.reseal(text.sealed).catch(() => null)
  if (resealed === null) counts.lost++
  else if (resealed !== undefined && (await texts.replace(text, resealed))) counts.resealed++
}
