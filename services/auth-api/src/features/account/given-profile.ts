import { isDeepStrictEqual } from 'node:util'
import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Metadata } from '@latchkey/shared/users/metadata.ts'
import type { Language } from '@latchkey/shared/users/user.ts'
import { Profile } from './profile.ts'

/** The members of a profile that its owner can change. A null passes where it is the present value. */
export interface GivenProfile {
  name?: string | null | undefined
  email?: string | null | undefined
  language?: Language | undefined
  /** A patch, as RFC 7396 describes it. */
  metadata?: Metadata | undefined
  /** Whatever else a client sends. */
  others: Readonly<Record<string, unknown>>
}

export interface ProfileChange extends Pick<GivenProfile, 'language' | 'metadata'> {
  name?: string | undefined
  email?: string | undefined
  /** The e-mail that the request repeats, which asks no guard; undefined where it gives another one, or none. */
  keptEmail?: string | undefined
}

/** Each request sets it, so a client may send an older one. */
const SET_BY_ITSELF = 'updated_at'

/**
 * Returns what a request changes of the profile that `findPresent` reads. A member that is not stored is refused by its name,
 * unless it has its present value: what GET answers can be sent back. Throws `invalid_input`.
 */
export async function findProfileChange(
  { name, email, others, ...change }: GivenProfile,
  findPresent: () => Promise<Profile>,
): Promise<ProfileChange> {
  const { [SET_BY_ITSELF]: _, ...fixed } = others
  if (name !== null && email === undefined && Object.keys(fixed).length === 0) return { ...change, name }
  const present: Readonly<Record<string, unknown>> = await findPresent()
  const isPresent = ([member, value]: readonly [string, unknown]) => isDeepStrictEqual(value, present[member])
  const nulls = Object.entries({ name, email }).filter(([, value]) => value === null)
  const errors = [
    ...nulls.map((each) => ({ each, message: 'must be a string' })),
    ...Object.entries(fixed).map((each) => ({ each, message: describeRefusal(each[0]) })),
  ].filter(({ each }) => !isPresent(each))
  if (errors.length > 0) throw invalidMembers(errors.map(({ each: [path], message }) => ({ path, message })))
  const isKept = isPresent(['email', email])
  return { ...change, name: name ?? undefined, [isKept ? 'keptEmail' : 'email']: email ?? undefined }
}

const describeRefusal = (member: string): string =>
  member in Profile.shape
    ? 'cannot be changed by this request; leave it out'
    : 'is not stored; send it as a member of metadata'

/** Creates the error that a schema gives for members of a body. */
export const invalidMembers = (errors: readonly { path: string; message: string }[]): AppError =>
  new AppError('invalid_input', 'The body is not valid', { details: { errors } })
