import { NO_PASSWORD } from '../users/user.ts'
import { exceedsBytes, findSchemeName, getScheme } from './schemes.ts'

export interface VerificationOptions {
  /** The scheme of new hashes, by its name in the registry. */
  scheme: string
  /** The schemes of stored hashes that may match, `scheme` among them. */
  accepted: readonly string[]
}

/**
 * `rehashed` is set when the password matches and its stored hash is not what `scheme` creates now; `unusable` when no
 * password could match, as a predicate of the stored hash.
 */
export type Verification = { matches: false; unusable?: string } | { matches: true; rehashed?: string }

/**
 * Verifies a password by its stored hash, which is undefined for an unknown user. The steps follow one another: they use one
 * thread of libuv's pool at most.
 */
export async function verifyStored(
  password: string,
  stored: string | undefined,
  { scheme, accepted }: VerificationOptions,
): Promise<Verification> {
  const unusable = stored === undefined || stored === NO_PASSWORD ? undefined : findFault(stored, accepted)
  const storedScheme = stored === undefined || unusable ? undefined : findSchemeName(stored)
  if (storedScheme && stored && (await getScheme(storedScheme).verify(password, stored))) {
    const isCurrent = storedScheme === scheme && getScheme(storedScheme).isCurrent(stored)
    // A new hash would match whatever follows its first bytes.
    const isKept = isCurrent || exceedsBytes(password, scheme)
    return isKept ? { matches: true } : { matches: true, rehashed: await getScheme(scheme).hash(password) }
  }
  // A refusal costs one verification of every accepted scheme, so that an unknown user, a wrong password, an old SHA-1
  // row and a new Argon2id row take the same time.
  for (const name of accepted)
    await getScheme(name).completeRefusal(password, name === storedScheme ? stored : undefined)
  return unusable ? { matches: false, unusable } : { matches: false }
}

/** Returns why no password can match: a hash that was truncated or edited, costs too much, or has another scheme. */
function findFault(stored: string, accepted: readonly string[]): string | undefined {
  const name = findSchemeName(stored)
  if (name === undefined) return 'has no known scheme'
  if (!accepted.includes(name)) return `is ${name}, which PASSWORD_HASH_ACCEPTED does not name`
  return getScheme(name).findFault(stored)
}
