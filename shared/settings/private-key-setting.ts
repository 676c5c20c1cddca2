import { readFileSync, statSync } from 'node:fs'
import { z } from 'zod'
import { type PrivateKey, parsePrivateKey } from '../secrets/private-key.ts'
import type { Fault } from './fault.ts'
import { type Setting, setting, TEXT } from './setting.ts'

const REMEDY =
  'Generate one with `npm run secret -- --key ed25519`; the path of a file belongs to the setting that ends with _FILE.'

/** A private key in PEM format. */
export const privateKey = (description: string): Setting<PrivateKey> =>
  setting(
    TEXT.transform((given, context) => read(given, context)),
    { description, remedy: REMEDY, unit: 'PEM', isSecret: true },
  )

/** The path of a file that contains a private key in PEM format. The value of the setting is the key. */
export const privateKeyFile = (description: string): Setting<PrivateKey> =>
  setting(
    TEXT.transform((path, context) => {
      // A key that is given in place of its path must not reach a log.
      if (path.includes('-----BEGIN')) return refuse(context, NO_PATH)
      try {
        const pem = readFileSync(path, 'utf8')
        return isReadableByAll(path) ? refuse(context, TOO_OPEN) : read(pem, context)
      } catch (error) {
        const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
        return refuse(context, { message: `must be the path of a file that can be read (${code})` })
      }
    }),
    { description, remedy: REMEDY, example: '/run/secrets/jwt-key.pem' },
  )

const NO_PATH: Fault = { message: 'must be the path of a file, not the key' }
const TOO_OPEN: Fault = {
  message: 'can be read by every user of the system',
  remedy: 'Run chmod 600 on the file; for a volume of Kubernetes set defaultMode: 0440 and fsGroup.',
}

const isReadableByAll = (path: string): boolean => (statSync(path).mode & 0o007) !== 0

function read(pem: string, context: z.core.$RefinementCtx): PrivateKey {
  const parsed = parsePrivateKey(pem)
  return 'message' in parsed ? refuse(context, parsed) : parsed
}

function refuse(context: z.core.$RefinementCtx, { message, remedy }: Fault): never {
  context.addIssue({ code: 'custom', message, params: { remedy } })
  return z.NEVER
}
