import { isMadeUsername } from '@latchkey/shared/users/account-names.ts'
import {
  INTERNAL_PROPERTY_PREFIX,
  LANGUAGES,
  languageOf,
  roleOf,
  type User,
} from '@latchkey/shared/users/user.ts'
import { z } from 'zod'
import type { ProfileRecord } from './profile-repository.ts'

const ALL_PROPERTIES = '*'

/** A user as the API shows it. Times are ISO 8601 in UTC. */
export const Profile = z
  .object({
    userid: z.guid(),
    name: z.string().nullable(),
    email: z.string().nullable(),
    pending_email: z.string().optional().describe('The new address, until its code has confirmed it.'),
    username: z.string().nullable().describe('Null where the user has chosen none.'),
    role: z.string(),
    language: z.enum(LANGUAGES).describe('The language of the mails.'),
    created_at: z.string().nullable().meta({ format: 'date-time' }),
    updated_at: z.string().nullable().meta({ format: 'date-time' }),
    properties: z
      .record(z.string(), z.union([z.string().nullable(), z.array(z.string().nullable())]))
      .describe('Set by admins. An array if a name occurs more than once.'),
    metadata: z.record(z.string(), z.unknown()).describe('What the application stores about the user.'),
  })
  .meta({
    id: 'Profile',
    description: 'The profile as it now is.',
    examples: [
      {
        userid: '01985f0c-5a2e-7d41-9c3b-2f6f0a8f3c11',
        name: 'Ada',
        email: 'ada@example.com',
        username: 'ada',
        role: 'user',
        language: 'en',
        created_at: '2026-03-01T09:30:00.000Z',
        updated_at: null,
        properties: { picture: 'https://www.gravatar.com/avatar/b58996c504c5638798eb6b511e6f49af' },
        metadata: { theme: 'dark' },
      },
    ],
  })

export type Profile = z.output<typeof Profile>

/** `shownProperties`: the names that `properties` contains; `*` stands for all but internal ones. */
export const toProfile = (
  { user, metadata, pendingEmail }: ProfileRecord,
  shownProperties: readonly string[],
): Profile => ({
  userid: user.userid,
  name: user.name,
  email: user.email,
  pending_email: pendingEmail,
  username: isMadeUsername(user.username) ? null : user.username,
  role: roleOf(user),
  language: languageOf(user),
  created_at: user.createdAt?.toISOString() ?? null,
  updated_at: user.updatedAt?.toISOString() ?? null,
  properties: toProperties(user, shownProperties),
  metadata,
})

function toProperties(user: User, shown: readonly string[]): Profile['properties'] {
  const isShown = (name: string) =>
    !name.startsWith(INTERNAL_PROPERTY_PREFIX) && (shown.includes(ALL_PROPERTIES) || shown.includes(name))
  const values = new Map<string, (string | null)[]>()
  for (const { name, value } of user.properties) {
    if (isShown(name)) values.set(name, [...(values.get(name) ?? []), value])
  }
  return Object.fromEntries(
    [...values].map(([name, list]) => [name, list.length === 1 ? (list[0] ?? null) : list]),
  )
}
