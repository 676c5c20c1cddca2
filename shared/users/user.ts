/** One row of `users` with the rows of `users_property` that belong to it. */
export interface User {
  /** Canonical lower-case UUID text. */
  userid: string
  name: string | null
  email: string | null
  username: string
  /** The stored hash, of any known scheme. */
  passwordHash: string
  role: string | null
  createdAt: Date | null
  updatedAt: Date | null
  deletedAt: Date | null
  /** The properties in the order in which they were added; a name may occur more than once. */
  properties: readonly UserProperty[]
}

/** The stored hash of a user without a password: no password matches it. */
export const NO_PASSWORD = '!'

export const hasPassword = (user: Pick<User, 'passwordHash'>): boolean => user.passwordHash !== NO_PASSWORD

export interface UserProperty {
  name: string
  value: string | null
}

export const LANGUAGES = ['en', 'fr', 'pt'] as const
export type Language = (typeof LANGUAGES)[number]

/** The property with the profile's language. */
export const LANGUAGE_PROPERTY = 'language'

/** Properties whose names start with it are internal: never shown, never set by an operator. */
export const INTERNAL_PROPERTY_PREFIX = 'latchkey.'

/** Tokens with an earlier `valid_from` are refused. Whole seconds since the epoch, so that an admin can read it. */
export const VALID_FROM_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}valid_from`

/** The token that the last valid-from time does not end. */
export const EXEMPT_TOKEN_PROPERTY = `${INTERNAL_PROPERTY_PREFIX}exempt_token`

/** The claims by which a token is told from others. The answers to a repeated refresh share their `jti`. */
export interface TokenOfUser {
  jti: string
  /** The user's valid-from time when the token was issued. */
  valid_from: number
}

/** The exemption of a token from one valid-from time: the next one ends the token too. */
export const exemptionOf = (validFrom: number, { jti, valid_from }: TokenOfUser): string =>
  `${validFrom} ${jti} ${valid_from}`

/** The user's first property called `name`. */
export const findProperty = (user: Pick<User, 'properties'>, name: string): string | undefined =>
  user.properties.find((property) => property.name === name)?.value ?? undefined

/** The user's language for mails and clients; `en` where none, or an unknown one, is set. */
export function languageOf(user: Pick<User, 'properties'>): Language {
  const value = findProperty(user, LANGUAGE_PROPERTY)
  return LANGUAGES.find((language) => language === value) ?? 'en'
}

/** Tokens with an earlier `valid_from` are invalid; 0 where none is set. */
export const validFromOf = (user: Pick<User, 'properties'>): number =>
  Number(findProperty(user, VALID_FROM_PROPERTY) ?? 0)

/**
 * Returns true if the user's valid-from time leaves a token valid. The token has the time that its user had: a comparison with
 * `iat` would leave a token valid that a replica with a fast clock has issued.
 */
export function isIssuedAfterValidFrom(user: Pick<User, 'properties'>, token: TokenOfUser): boolean {
  const validFrom = validFromOf(user)
  return (
    token.valid_from >= validFrom ||
    findProperty(user, EXEMPT_TOKEN_PROPERTY) === exemptionOf(validFrom, token)
  )
}

/** The role that handlers check; an empty role is `user`. */
export const roleOf = (user: Pick<User, 'role'>): string => user.role || 'user'

/** The length of each field, in code points. */
export const MAX_LENGTH = {
  name: 50,
  email: 120,
  username: 20,
  role: 50,
  propertyName: 50,
  propertyValue: 250,
} as const

/**
 * The form in which e-mails and usernames are compared: case does not count, accents do. PostgreSQL has an index of the same
 * expression, with the letters of its locale. MySQL and MariaDB compare by their collation, which takes the two small sigmas for
 * one letter too, and also symbols that look alike. Where they differ, this function decides.
 */
export const fold = (text: string): string => text.normalize('NFC').toLowerCase().replaceAll('ς', 'σ')
