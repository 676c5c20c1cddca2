import { randomBytes } from 'node:crypto'
import { boundedText } from './storable-text.ts'
import { fold, MAX_LENGTH } from './user.ts'

/** The viramas of the scripts of South Asia: a joiner after one changes how the letters around it are drawn. */
const VIRAMAS = '[\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca]'
/** Letters of the Arabic script, of which those that join with their successor are all but the listed ones (Unicode's Joining_Type). */
const ARABIC = '[[\u0620-\u06ff]&&\\p{L}]'
const JOINING = `[${ARABIC}--[\u0621-\u0625\u0627\u0629\u062f-\u0632\u0640\u0648\u0671-\u0677\u0688-\u0699\u06c0\u06c3-\u06cb\u06cd\u06cf\u06d2\u06d3\u06d5\u06ee\u06ef]]`

/** A joiner (ZWJ, ZWNJ) where it can be seen, as RFC 5892 (appendix A) allows one in an identifier. */
const VISIBLE_JOINER = new RegExp(
  `(?<=${VIRAMAS})[\u200c\u200d]|(?<=${JOINING}\\p{M}*)\u200c(?=\\p{M}*[${ARABIC}--[\u0621\u0674]])`,
  'gv',
)
const INVISIBLE = /[\p{C}\p{Default_Ignorable_Code_Point}\u2800]|[\p{Z}--[ ]]/v

/**
 * Returns true if a text has characters that cannot be seen, or that change the order of others. With these, two identifiers
 * that differ look the same (RFC 8265).
 */
export const hasInvisible = (text: string): boolean => INVISIBLE.test(text.replace(VISIBLE_JOINER, ''))

/** A username that a new user may have. Users of an adopted database keep theirs. */
export const username = () =>
  boundedText(MAX_LENGTH.username)
    .min(1, 'must not be empty')
    .refine((text) => text === text.trim(), 'must not begin or end with white space')
    .refine((text) => !hasInvisible(text), 'must not contain invisible characters')

/** The name of a person. Joiners may occur: scripts and emoji need them. */
export const displayName = () =>
  boundedText(MAX_LENGTH.name).refine(
    (text) => !/[\p{Bidi_Control}\u2028\u2029\u{e0000}-\u{e007f}]/u.test(text),
    'must not contain characters that change the direction of text, line separators or tags',
  )

/** False for another person's e-mail: a refusal of it would reveal whether that account exists. */
export const isOwnUsername = (username: string, email: string | null): boolean =>
  !username.includes('@') || fold(username) === fold(email ?? '')

/** The form of a username that Latchkey has made. */
const MADE_USERNAME = /^~[\w-]{19}$/

/** Makes the username of a user who has not chosen one: the column needs one, and nobody reads it. */
export const makeUsername = (): string => `~${randomBytes(15).toString('base64url').slice(0, 19)}`

/** True for a username that Latchkey has made: it is shown nowhere. */
export const isMadeUsername = (username: string): boolean => MADE_USERNAME.test(username)
