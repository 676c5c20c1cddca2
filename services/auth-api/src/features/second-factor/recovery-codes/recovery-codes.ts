import { randomInt, randomUUID } from 'node:crypto'
import type { FactorRepository } from '@latchkey/shared/users/factor-repository.ts'
import { RECOVERY_PURPOSE } from '@latchkey/shared/users/factor-sealer.ts'
import { hashRecoveryCode } from '@latchkey/shared/users/recovery-code.ts'
import type { FactorSecrets } from '../factor-secrets.ts'

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
        hash: await seal(userid, RECOVERY_PURPOSE, hashRecoveryCode(code)),
      }))
      await factors.replaceCodes(userid, await Promise.all(rows), now)
    },

    /** Uses a code; returns how many are left, and undefined for one that the user does not have. */
    async use(factors: FactorRepository, userid: string, code: string): Promise<number | undefined> {
      const stored = await factors.findCodes(userid)
      const hashes = await Promise.all(stored.map(({ hash }) => open(userid, RECOVERY_PURPOSE, hash)))
      const used = stored[hashes.indexOf(hashRecoveryCode(code))]
      return used && (await factors.useCode(used.id)) ? stored.length - 1 : undefined
    },
  }
}

const generateCode = (): string =>
  Array.from({ length: LETTERS }, () => ALPHABET[randomInt(ALPHABET.length)])
    .join('')
    .replaceAll(/(?<=^(?:.{4})+)(?!$)/g, '-')
