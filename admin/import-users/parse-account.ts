import { PROVIDER_NAME } from '@latchkey/shared/settings/provider-name.ts'
import { BAN_PROPERTY, formatBan, UNCONFIRMED_PROPERTY } from '@latchkey/shared/users/account-state.ts'
import { findMetadataFault, type Metadata } from '@latchkey/shared/users/metadata.ts'
import { LANGUAGE_PROPERTY, LANGUAGES, type UserProperty } from '@latchkey/shared/users/user.ts'
import type { Fault } from '../fault.ts'
import { parseMoment } from '../moment.ts'

/** What another system has of an account beside its names and its password. */
export interface ImportedAccount {
  /** Undefined where the import chooses one. */
  userid: string | undefined
  createdAt: Date | undefined
  deletedAt: Date | undefined
  /** The ban, the language, and that an e-mail is not confirmed. */
  properties: readonly UserProperty[]
  metadata: Metadata | undefined
  identities: readonly { provider: string; subject: string }[]
  /** In base 32, as an authenticator app has it. */
  totpSecret: string | undefined
  recoveryCodes: readonly string[]
}

export interface AccountRules {
  /** False where FACTOR_SECRET is not set. */
  sealsFactors: boolean
  now: number
}

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i
/** It means nobody (RFC 9562 §5.9). */
const NIL = /^[0-]+$/
const MOMENT = 'must be a time such as 2026-12-31T18:00:00Z'
const TRUE = ['', 'true', 't', '1']
const FALSE = ['false', 'f', '0']
const SUBJECT = /^[!-~]{1,255}$/
const BASE_32 = /^[A-Z2-7]{16,128}$/
const RECOVERY_CODE = /^[\w-]{8,64}$/
const MAX_RECOVERY_CODES = 50

/** Parses the cells of one line that say more about the account; adds what is wrong to `faults`. */
export function parseAccount(
  cellOf: (column: string) => string,
  { sealsFactors, now }: AccountRules,
  faults: Fault[],
): ImportedAccount {
  /** Returns undefined for an empty cell, and where it is not valid. */
  const parse = <Value>(column: string, read: (text: string) => Value | undefined, reason: string) => {
    const text = cellOf(column)
    const value = text === '' ? undefined : read(text)
    if (text !== '' && value === undefined) faults.push({ field: column, reason })
    return value
  }
  const parseTime = (column: string) => parse(column, parseMoment, MOMENT)
  const words = (text: string, isValid: (word: string) => boolean) => {
    const list = text.split(' ').filter(Boolean)
    return list.every(isValid) && new Set(list).size === list.length ? list : undefined
  }
  const factorColumns = ['totp_secret', 'recovery_codes'].filter((column) => cellOf(column) !== '')
  if (!sealsFactors)
    for (const field of factorColumns) faults.push({ field, reason: 'needs FACTOR_SECRET, that of auth-api' })
  if (cellOf('recovery_codes') !== '' && cellOf('totp_secret') === '')
    faults.push({ field: 'recovery_codes', reason: 'must be empty without a totp_secret' })

  return {
    userid: parse(
      'userid',
      (text) => (UUID.test(text) && !NIL.test(text) ? text.toLowerCase() : undefined),
      'must be a UUID such as 01985f0c-5a2e-7d41-9c3b-2f6f0a8f3c11',
    ),
    createdAt: parseTime('created_at'),
    deletedAt: parseTime('deleted_at'),
    properties: [
      ...toProperty(
        LANGUAGE_PROPERTY,
        parse('language', findLanguage, `must be one of ${LANGUAGES.join(', ')}`),
      ),
      ...toProperty(
        UNCONFIRMED_PROPERTY,
        parse('email_confirmed', readUnconfirmed, 'must be true or false') || undefined,
      ),
      ...toProperty(
        BAN_PROPERTY,
        parse('banned_until', (text) => readBan(text, now), `${MOMENT}, or infinity`) || undefined,
      ),
    ],
    metadata: parseMetadataCell(cellOf('metadata'), faults),
    identities: (
      parse(
        'identities',
        (text) => words(text, isIdentity),
        'must be pairs such as google:10769150350006150715113082367, separated by spaces',
      ) ?? []
    ).map(splitIdentity),
    totpSecret: parse(
      'totp_secret',
      (text) => {
        const secret = text.toUpperCase().replace(/=+$/, '')
        return BASE_32.test(secret) ? secret : undefined
      },
      'must be the base 32 of at least 10 bytes',
    ),
    recoveryCodes:
      parse(
        'recovery_codes',
        (text) => words(text, (word) => RECOVERY_CODE.test(word))?.slice(0, MAX_RECOVERY_CODES),
        'must be codes of 8 to 64 letters, digits and hyphens, separated by spaces',
      ) ?? [],
  }
}

const toProperty = (name: string, value: string | undefined): UserProperty[] =>
  value === undefined ? [] : [{ name, value }]

const findLanguage = (text: string) => LANGUAGES.find((language) => language === text)

/** Returns the value of the property, and an empty text for a confirmed e-mail. */
function readUnconfirmed(text: string): string | undefined {
  if (TRUE.includes(text.toLowerCase())) return ''
  return FALSE.includes(text.toLowerCase()) ? 'import' : undefined
}

/** Returns the ban, and an empty text for one that has ended. */
function readBan(text: string, now: number): string | undefined {
  if (text === 'infinity') return formatBan({ until: undefined, reason: 'import' })
  const until = parseMoment(text)
  if (!until) return undefined
  return until.getTime() > now ? formatBan({ until, reason: 'import' }) : ''
}

const isIdentity = (text: string): boolean => {
  const { provider, subject } = splitIdentity(text)
  return PROVIDER_NAME.test(provider) && SUBJECT.test(subject)
}

function splitIdentity(text: string): { provider: string; subject: string } {
  const [provider = '', ...subject] = text.split(':')
  return { provider, subject: subject.join(':') }
}

function parseMetadataCell(text: string, faults: Fault[]): Metadata | undefined {
  if (text === '') return undefined
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // The message of the parser has a part of the text.
  }
  const reason = findMetadataFault(value)
  if (reason) faults.push({ field: 'metadata', reason })
  return reason ? undefined : (value as Metadata)
}
