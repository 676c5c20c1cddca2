import { createFactorSealer, toSealedContent } from '@latchkey/shared/users/factor-sealer.ts'
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

/**
 * Creates the functions that seal and open secrets of factors, each for a user and a purpose, by FACTOR_SECRET. A secret that
 * cannot be opened counts as absent, so that the other factors of the user still work.
 */
export function createFactorSecrets({ secret, previousSecret, logger }: FactorSecretsDependencies) {
  const sealer = createFactorSealer(secret, previousSecret)

  return {
    seal: (userid: string, purpose: string, value: string): Promise<string> =>
      sealer.seal(toSealedContent(userid, purpose, value)),

    async open(userid: string, purpose: string, sealed: string): Promise<string | undefined> {
      try {
        const text = Sealed.parse(JSON.parse(await sealer.open(sealed)))
        if (text.userid === userid && text.purpose === purpose) return text.value
      } catch {
        // An error of jose or zod says no more than the line below.
      }
      logger.warn(
        { userid, purpose },
        'a second factor cannot be opened: it was sealed by another secret, or for another user',
      )
      return undefined
    },
  }
}
