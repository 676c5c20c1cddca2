import { type PasswordScheme, spellingsOf } from './password-scheme.ts'

interface Parameters {
  /** KiB. */
  memoryCost: number
  timeCost: number
  parallelism: number
}

let library: Promise<typeof import('@node-rs/argon2')> | undefined

/** Loads the native library where it is needed: it takes memory, and most processes hash nothing. */
const load = () => (library ??= import('@node-rs/argon2'))

/** `@node-rs/argon2` numbers the algorithms in a `const enum`, which erasable TypeScript cannot import. */
const ALGORITHMS = { argon2i: 1, argon2id: 2 } as const

/** Highest cost of a stored hash that is verified, because each login costs what the hash says: 256 MiB and ten passes. */
const MAX_MEMORY_KIB = 262_144
const MAX_PASSES = 10
const MAX_LANES = 16

/** Argon2 (RFC 9106), stored as a PHC string. */
function argon2(
  name: keyof typeof ALGORITHMS,
  parameters: Parameters,
  spell: (password: string) => string[],
) {
  const { memoryCost, timeCost, parallelism } = parameters
  const currentPrefix = `$${name}$v=19$m=${memoryCost},t=${timeCost},p=${parallelism}$`
  const decoy = `${currentPrefix}${'A'.repeat(22)}$${'A'.repeat(43)}`
  const phc = new RegExp(
    `^\\$${name}\\$v=19\\$m=(\\d{1,7}),t=(\\d{1,3}),p=(\\d{1,3})\\$[A-Za-z0-9+/]{11,86}\\$[A-Za-z0-9+/]{16,86}$`,
  )
  // Each spelling is verified: the time must not tell which one matched. One after the other: a call has one thread.
  async function verify(password: string, stored: string): Promise<boolean> {
    const argon2 = await load()
    let matches = false
    for (const spelling of spell(password)) if (await argon2.verify(stored, spelling)) matches = true
    return matches
  }

  return {
    form: `an ${name} PHC string`,
    recognises: (stored) => stored.startsWith(`$${name}$`),
    findFault(stored) {
      const [, memoryKib, passes, lanes] = (phc.exec(stored) ?? []).map(Number)
      if (memoryKib === undefined || passes === undefined || lanes === undefined)
        return `is not a whole ${name} PHC string`
      const isWithin = memoryKib <= MAX_MEMORY_KIB && passes <= MAX_PASSES && lanes <= MAX_LANES
      const isPossible = passes > 0 && lanes > 0 && memoryKib >= 8 * lanes
      if (isWithin && isPossible) return undefined
      return `has ${name} parameters out of bounds: at most m=${MAX_MEMORY_KIB}, t=${MAX_PASSES}`
    },
    load,
    hash: async (password) =>
      (await load()).hash(password.normalize('NFC'), { algorithm: ALGORITHMS[name], ...parameters }),
    verify,
    isCurrent: (stored) => stored.startsWith(currentPrefix),
    async completeRefusal(password, stored) {
      if (stored === undefined) await this.verify(password, decoy)
    },
  } satisfies PasswordScheme
}

/** Latchkey's own, with OWASP's parameters: 19 MiB, two passes, one lane. */
export const argon2id: PasswordScheme = argon2(
  'argon2id',
  { memoryCost: 19_456, timeCost: 2, parallelism: 1 },
  (password) => [password.normalize('NFC')],
)

/** PHP's `PASSWORD_ARGON2I` with the parameters that it has by default. */
export const argon2i: PasswordScheme = argon2(
  'argon2i',
  { memoryCost: 65_536, timeCost: 4, parallelism: 1 },
  spellingsOf,
)
