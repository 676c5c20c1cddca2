import { hash } from 'node:crypto'
import { createFactorSealer } from '@latchkey/shared/users/factor-sealer.ts'
import { z } from 'zod'

/** The content of a sealed text. It names its user: a text that was moved to the row of another user is refused. */
const Sealed = z.object({ userid: z.string(), purpose: z.string(), value: z.string() })

export type FactorSecrets = ReturnType<typeof createFactorSecrets>

export interface FactorSecretsDependencies {
  secret: Uint8Array
  /** Opens what it sealed, and seals nothing. */
  previousSecret: Uint8Array | undefined
  logger: { warn(details: object, message: string): void }
}

type Purpose = 'totp' | 'recovery' | 'new recovery codes'

/**
 * Creates the functions that seal and open the secrets of factors and the hashes of recovery codes, by FACTOR_SECRET. A secret
 * that cannot be opened counts as absent, so that the other factors of the user still work.
 */
export function createFactorSecrets({ secret, previousSecret, logger }: FactorSecretsDependencies) {
  const sealer = createFactorSealer(secret, previousSecret)

  const seal = (userid: string, purpose: Purpose, value: string): Promise<string> =>
    sealer.seal(JSON.stringify({ userid, purpose, value }))

  async function open(userid: string, purpose: Purpose, sealed: string): Promise<string | undefined> {
    try {
      const text = Sealed.parse(JSON.parse(await sealer.open(sealed)))
      if (text.userid === userid && text.purpose === purpose) return text.value
    } catch {
      // An error of jose or zod says no more than the line below.
    }
    logger.warn(
      { userid, purpose },
      'a second factor was sealed by another FACTOR_SECRET or for another user; set that secret as FACTOR_SECRET_PREVIOUS',
    )
    return undefined
  }

  return {
    sealTotp: (userid: string, secret: string) => seal(userid, 'totp', secret),
    openTotp: (userid: string, sealed: string) => open(userid, 'totp', sealed),
    sealRecoveryCode: (userid: string, code: string) => seal(userid, 'recovery', hashOf(code)),
    sealNewCodes: (userid: string, codes: readonly string[]) =>
      seal(userid, 'new recovery codes', codes.join(' ')),
    openNewCodes: async (userid: string, sealed: string) =>
      (await open(userid, 'new recovery codes', sealed))?.split(' '),
    isRecoveryCode: async (userid: string, sealed: string, code: string) =>
      (await open(userid, 'recovery', sealed)) === hashOf(code),
  }
}

/** A code has 60 random bits, and its hash is sealed: what compares the hashes need not take equal time. */
const hashOf = (code: string): string => hash('sha256', code, 'base64url')
