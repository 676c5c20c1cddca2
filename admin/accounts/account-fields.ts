import { displayName, username } from '@latchkey/shared/users/account-names.ts'
import { emailAddress } from '@latchkey/shared/users/email-address.ts'
import { boundedText, countCharacters } from '@latchkey/shared/users/storable-text.ts'
import {
  INTERNAL_PROPERTY_PREFIX,
  LANGUAGE_PROPERTY,
  LANGUAGES,
  MAX_LENGTH,
} from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import type { Fault } from '../fault.ts'

/** White space at either end is invisible, and users would not type it at a login. */
const trimmed = (maximum: number) =>
  boundedText(maximum).refine((text) => text === text.trim(), 'must not begin or end with white space')

const AccountFields = z.object({
  username: username(),
  email: emailAddress(),
  name: displayName(),
  role: trimmed(MAX_LENGTH.role),
})

/** An empty name or role means none. */
export type AccountFields = z.output<typeof AccountFields>

/** Every fault for which auth-api would refuse the fields too; none when they can be stored. */
export const findAccountFaults = (fields: AccountFields): Fault[] => toFaults(AccountFields.safeParse(fields))

export const findRoleFaults = (role: string): Fault[] =>
  toFaults(AccountFields.pick({ role: true }).safeParse({ role }))

/** The fault of a role that no route requires, so that nobody would ever be asked for it. */
export function findUnknownRoleFault(role: string, known: readonly string[]): Fault[] {
  if (role === '' || known.includes(role)) return []
  const list = new Intl.ListFormat('en').format(known)
  return [
    {
      field: 'role',
      reason: `must be one that a route requires: ${list}; to set it anyway, add --arg --force`,
    },
  ]
}

/** The faults of a property that an administrator sets; an empty value removes it. */
export function findPropertyFaults(name: string, value: string): Fault[] {
  const field = 'property'
  if (name.toLowerCase().startsWith(INTERNAL_PROPERTY_PREFIX))
    return [{ field, reason: `names that begin with ${INTERNAL_PROPERTY_PREFIX} belong to Latchkey` }]
  const faults: Fault[] = []
  const nameFault = trimmed(MAX_LENGTH.propertyName).safeParse(name).error?.issues[0]?.message
  if (nameFault) faults.push({ field: 'property name', reason: nameFault })
  if (name === '') faults.push({ field: 'property name', reason: 'must not be empty' })
  const valueFault = describeValueFault(name, value)
  if (valueFault) faults.push({ field: `property ${name}`, reason: valueFault })
  return faults
}

function describeValueFault(name: string, value: string): string | undefined {
  if (countCharacters(value) > MAX_LENGTH.propertyValue)
    return `must be at most ${MAX_LENGTH.propertyValue} characters`
  // Unlike a name, the value of a property may have several lines.
  if (!value.isWellFormed() || /[^\P{Cc}\n\r\t]/u.test(value)) return 'must not contain control characters'
  const isLanguage = value === '' || LANGUAGES.some((language) => language === value)
  if (name === LANGUAGE_PROPERTY && !isLanguage) return `must be one of ${LANGUAGES.join(', ')}`
  return undefined
}

function toFaults(result: z.ZodSafeParseResult<unknown>): Fault[] {
  return (result.error?.issues ?? []).map(({ path, message }) => ({
    field: String(path[0]),
    reason: message,
  }))
}
