import { type PasswordScheme, spellingsOf } from './password-scheme.ts'

let library: Promise<typeof import('@node-rs/bcrypt')> | undefined

/** Loads the native library where it is needed: it takes memory, and most processes hash nothing. */
const load = () => (library ??= import('@node-rs/bcrypt'))

/** PHP's since 8.4; 10 before. */
const COST = 12
/** Highest cost of a stored hash that is verified: about a second for each login. */
const MAX_COST = 14
const MIN_COST = 4

/** `$2y$` is PHP's prefix, `$2b$` OpenBSD's, and `$2a$` that of older libraries. `$2x$` marks a bug of PHP 5.3. */
const BCRYPT = /^\$2[aby]\$(\d\d)\$[./A-Za-z0-9]{53}$/

const costOf = (stored: string): number => Number(BCRYPT.exec(stored)?.[1])

const decoy = (cost: number): string => `$2y$${String(cost).padStart(2, '0')}$${'.'.repeat(53)}`

// Each spelling is verified: the time must not tell which one matched. One after the other: a call has one thread.
async function verify(password: string, stored: string): Promise<boolean> {
  const bcrypt = await load()
  let matches = false
  for (const spelling of spellingsOf(password)) if (await bcrypt.verify(spelling, stored)) matches = true
  return matches
}

/**
 * bcrypt, as PHP's `PASSWORD_BCRYPT` stores it. A hash does not tell whether another program cut a longer password, so what
 * follows its first 72 bytes does not count at a login.
 */
export const bcrypt: PasswordScheme = {
  maximumBytes: 72,
  form: 'a bcrypt hash ($2y$, $2b$ or $2a$)',
  load,
  recognises: (stored) => /^\$2[aby]\$/.test(stored),
  findFault(stored) {
    const cost = costOf(stored)
    if (Number.isNaN(cost)) return 'is not a whole bcrypt hash'
    if (cost >= MIN_COST && cost <= MAX_COST) return undefined
    return `has the bcrypt cost ${cost}, and it must be from ${MIN_COST} to ${MAX_COST}`
  },
  // The prefixes name one algorithm; older versions of PHP know only their own.
  async hash(password) {
    const hash = await (await load()).hash(password.normalize('NFC'), COST)
    return `$2y${hash.slice('$2b'.length)}`
  },
  verify,
  isCurrent: (stored) => costOf(stored) === COST,
  async completeRefusal(password, stored) {
    if (stored === undefined) await this.verify(password, decoy(COST))
    // Work doubles with each cost: 2^c, and 2^c + 2^(c+1) + … + 2^11, are 2^12 together.
    else for (let cost = costOf(stored); cost < COST; cost++) await this.verify(password, decoy(cost))
  },
}
