import { AppError } from '@latchkey/shared/errors/app-error.ts'
import type { Factor } from '@latchkey/shared/users/factor-repository.ts'
import type { AuthenticationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import type { FactorTraits, SecondFactor } from '../second-factor.ts'

export const PASSKEY: FactorTraits = {
  name: 'passkey',
  refusal: { code: 'passkey_refused', name: 'passkey.refused' },
}

/** The column `data` of a passkey's factor. Nothing in it is secret. */
const StoredPasskey = z.object({
  /** The credential id, in base64url. */
  id: z.string(),
  /** The COSE key, in base64url. */
  publicKey: z.string(),
  transports: z.array(z.string()),
  /** True where it may be on several devices, and where it was at its last use. */
  isSynced: z.boolean(),
  isBackedUp: z.boolean(),
})

export type StoredPasskey = z.output<typeof StoredPasskey>

/** A passkey with its factor. */
export interface Passkey extends StoredPasskey {
  factor: Factor
}

/** The confirmed passkeys among the factors of a user. */
export const passkeysOf = (factors: readonly Factor[]): Passkey[] =>
  factors
    .filter(({ kind, confirmedAt }) => kind === PASSKEY.name && confirmedAt)
    .map((factor) => ({ ...StoredPasskey.parse(JSON.parse(factor.data)), factor }))

/** A passkey as a browser names it in `allowCredentials` and `excludeCredentials`. */
export const toDescriptor = ({ id, transports }: StoredPasskey) => ({ id, transports })

/** The user handle of a user: the bytes of the id, which say nothing about the person (WebAuthn §14.6.1). */
export const toUserHandle = (userid: string): Uint8Array<ArrayBuffer> =>
  Uint8Array.from(Buffer.from(userid.replaceAll('-', ''), 'hex'))

/** The user id of a user handle; undefined for a handle that is not of Latchkey. */
export function fromUserHandle(userHandle = ''): string | undefined {
  const hex = Buffer.from(userHandle, 'base64url').toString('hex')
  return /^[0-9a-f]{32}$/.test(hex)
    ? hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
    : undefined
}

/** The pages on which passkeys are used (WebAuthn §4). */
export interface RelyingParty {
  /** A domain. */
  id: string
  name: string
  /** The origins of the pages that may use the passkeys of the domain. */
  origins: readonly string[]
}

/** The dependencies of the use cases of passkeys. */
export interface Passkeys extends SecondFactor {
  party: RelyingParty
}

const ClientData = z.object({
  type: z.string(),
  challenge: z.string().max(2_048),
  origin: z.string(),
  crossOrigin: z.boolean().optional(),
})

/**
 * Reads what the browser says about a ceremony, before anything expensive, and refuses what another page or a frame of one has
 * asked for. Returns the challenge as it was issued: the text that the browser was given as bytes.
 */
export function readChallenge(
  clientDataJSON: string,
  type: 'webauthn.create' | 'webauthn.get',
  { origins }: Pick<RelyingParty, 'origins'>,
): string {
  const clientData = ClientData.safeParse(parseJson(Buffer.from(clientDataJSON, 'base64url').toString()))
  if (!clientData.success || clientData.data.type !== type) throw invalidPasskey()
  const { origin, crossOrigin, challenge } = clientData.data
  if (!origins.includes(origin) || crossOrigin)
    throw new AppError(
      'passkey_refused',
      `Passkeys are accepted from pages of ${origins.join(', ')}, outside frames`,
      { reason: 'foreign_page' },
    )
  return Buffer.from(challenge, 'base64url').toString()
}

/** Reads the challenge that a passkey has signed. */
export const readSignedChallenge = (
  { response }: AuthenticationResponseJSON,
  party: Pick<RelyingParty, 'origins'>,
): string => readChallenge(response.clientDataJSON, 'webauthn.get', party)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export const invalidPasskey = (cause?: unknown) =>
  new AppError('passkey_refused', 'The response of the passkey is not valid', {
    reason: 'passkey_invalid',
    cause,
  })

export const unknownPasskey = () =>
  new AppError('passkey_refused', 'This passkey belongs to no account here', { reason: 'passkey_unknown' })

/** Runs a verification of the library, whose errors repeat what the client sent. */
export const verifying = <Result>(verification: Promise<Result>): Promise<Result> =>
  verification.catch((cause: unknown) => {
    throw invalidPasskey(cause)
  })

/** Loads the library with the first passkey: with its parsers of certificates it takes 27 MB and a fifth of a second. */
export const loadWebAuthn = () => import('@simplewebauthn/server')
