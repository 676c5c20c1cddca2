import { hash, randomInt, randomUUID } from 'node:crypto'
import type { FactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import type { FactorSecrets } from '../factor-secrets.ts'

const PURPOSE = 'recovery'
const CODES = 10
/** Crockford's base 32, in which no two letters look alike. */
const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'
const LETTERS = 12

export type RecoveryCodes = ReturnType<typeof createRecoveryCodes>

/** Creates the functions that issue and use recovery codes. Each needs the repository of a transaction that has locked the user. */
export function createRecoveryCodes({ seal, open }: FactorSecrets) {
  return {
    /** Creates ten codes, as a user reads them. */
    create: (): string[] => Array.from({ length: CODES }, generateCode),

    /** Replaces the codes of a user. */
    async replace(
      factors: FactorRepository,
      userid: string,
      codes: readonly string[],
      now: Date,
    ): Promise<void> {
      const rows = codes.map(async (code) => ({
        id: randomUUID(),
        hash: await seal(userid, PURPOSE, hashOf(code)),
      }))
      await factors.replaceCodes(userid, await Promise.all(rows), now)
    },

    /** Uses a code; returns how many are left, and undefined for one that the user does not have. */
    async use(factors: FactorRepository, userid: string, code: string): Promise<number | undefined> {
      const stored = await factors.findCodes(userid)
      const hashes = await Promise.all(stored.map(({ hash }) => open(userid, PURPOSE, hash)))
      const used = stored[hashes.indexOf(hashOf(code))]
      return used && (await factors.useCode(used.id)) ? stored.length - 1 : undefined
    },
  }
}

const generateCode = (): string =>
  Array.from({ length: LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)])
    .join('')
    .replaceAll(/(?<=^(?:.{4})+)(?!$)/g, '-')

/** A user may type capitals, spaces, and the letters that the alphabet leaves out for the digits that they look like. */
const normalize = (code: string): string =>
  code.toLowerCase().replaceAll(/[\s-]/g, '').replaceAll('o', '0').replaceAll(/[il]/g, '1')

/** A hash is sealed, and of 60 random bits: the comparison need not take equal time. */
const hashOf = (code: string): string => hash('sha256', normalize(code), 'base64url')
