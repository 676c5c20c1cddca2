/** One row of `users` with the rows of `users_property` that belong to it. */
export interface User {
  /** Canonical lower-case UUID text. */
  userid: string
  name: string | null
  email: string | null
  username: string
  /** As stored: the hash of any known scheme. */
  passwordHash: string
  role: string | null
  createdAt: Date | null
  updatedAt: Date | null
  deletedAt: Date | null
  /** In the order they were added; a name may occur more than once. */
  properties: readonly UserProperty[]
}

export interface UserProperty {
  name: string
  value: string | null
}

export const LANGUAGES = ['en', 'fr', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]

/** The property that holds the profile's language. */
export const LANGUAGE_PROPERTY = 'language'

/** Names that start so belong to Latchkey: never shown, never set by hand. */
export const INTERNAL_PROPERTY_PREFIX = 'latchkey.'

/** Tokens issued before this moment (whole seconds since the epoch) are refused. */
export const VALID_FROM_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}valid_from`

/** The user's first property called `name`. */
export const findProperty = (user: User, name: string): string | undefined =>
  user.properties.find((property) => property.name === name)?.value ?? undefined

/** The language mails and clients use for this user: `en` when none, or none that is known, is set. */
export function languageOf(user: User): Language {
  const value = findProperty(user, LANGUAGE_PROPERTY)
  return LANGUAGES.find((language) => language === value) ?? 'en'
}

/** The moment before which no token of this user is valid, in seconds since the epoch; 0 when none is set. */
export const validFromOf = (user: User): number => Number(findProperty(user, VALID_FROM_PROPERTY) ?? 0)

/** What handlers compare: an empty role is `user`. */
export const roleOf = (user: User): string => user.role || 'user'

/** How many characters, as a reader counts them and both databases do, a field holds. */
export const MAX_LENGTH = {
  name: 50,
  email: 120,
  username: 20,
  role: 50,
  propertyName: 50,
  propertyValue: 250,
} as const
