import { findProperty, INTERNAL_PROPERTY_PREFIX, type User } from './user.ts'

/** The kinds of factors with which a user can log in beside the password. */
export const FACTOR_KINDS = ['totp', 'passkey'] as const
export type FactorKind = (typeof FACTOR_KINDS)[number]

/**
 * The kinds of the user's factors, separated by spaces; absent without a factor. It is read together with the user, so that
 * a login needs no further statement. The table `user_factor` decides; both change in one transaction.
 */
export const FACTORS_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}factors`

/** The kinds of factors that the user has confirmed. */
export function factorKindsOf(user: Pick<User, 'properties'>): FactorKind[] {
  const kinds = (findProperty(user, FACTORS_PROPERTY) ?? '').split(' ')
  return FACTOR_KINDS.filter((kind) => kinds.includes(kind))
}
