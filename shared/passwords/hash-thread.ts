import { getScheme, PASSWORD_SCHEMES } from './schemes.ts'

export type HashTask =
  | { kind: 'hash'; scheme: string; password: string }
  | { kind: 'verify'; scheme: string; password: string; stored: string | undefined }

/** `rehashed` is set when the password matches and its stored hash is not what `scheme` creates now. */
export type Verification = { matches: false } | { matches: true; rehashed?: string }

/** Runs one task in a hashing thread; piscina calls the default export. */
export default function runHashTask(task: HashTask): string | Verification {
  return task.kind === 'hash' ? getScheme(task.scheme).hash(task.password) : verify(task)
}

function verify({ scheme, password, stored }: Extract<HashTask, { kind: 'verify' }>): Verification {
  const configured = getScheme(scheme)
  const own = Object.values(PASSWORD_SCHEMES).find((candidate) => stored && candidate.recognises(stored))
  if (own && stored && isHashOf(own, password, stored)) {
    const isCurrent = own === configured && own.isCurrent(stored)
    return isCurrent ? { matches: true } : { matches: true, rehashed: configured.hash(password) }
  }
  // A refusal costs one verification of every scheme, so that an unknown user, a wrong password, an old SHA-1 row and
  // a new Argon2id row take the same time.
  for (const other of Object.values(PASSWORD_SCHEMES)) {
    if (other !== own) other.verify(password, other.decoy)
  }
  return { matches: false }
}

function isHashOf(scheme: (typeof PASSWORD_SCHEMES)[string], password: string, stored: string): boolean {
  try {
    return scheme.verify(password, stored)
  } catch {
    // A hash that was truncated or edited in the database matches no password.
    scheme.verify(password, scheme.decoy)
    return false
  }
}
