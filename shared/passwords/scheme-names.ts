/** The names of the schemes in settings. Settings need no more of the schemes. */
export const SCHEME_NAMES = ['sha1', 'argon2id', 'bcrypt', 'argon2i'] as const

/** The schemes that are verified unless PASSWORD_HASH_ACCEPTED names others. */
export const ACCEPTED_BY_DEFAULT: readonly string[] = ['sha1', 'argon2id']
