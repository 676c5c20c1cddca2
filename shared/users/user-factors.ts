import { findProperty, INTERNAL_PROPERTY_PREFIX, type User } from './user.ts'

/**
 * The kinds of the user's factors, separated by spaces; absent without a factor. It is read together with the user, so that
 * a login needs no further statement. The table `user_factor` decides; both change in one transaction.
 */
export const FACTORS_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}factors`

/** Returns the kinds of factors that the user has confirmed. */
export const factorKindsOf = (user: Pick<User, 'properties'>): string[] =>
  (findProperty(user, FACTORS_PROPERTY) ?? '').split(' ').filter(Boolean)
