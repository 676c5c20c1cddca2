import {
  AuthenticatorEmulator,
  PasskeysCredentialsMemoryRepository,
  WebAuthnEmulator,
} from 'nid-webauthn-emulator'
import { factorSettings } from './factors.ts'

export const ORIGIN = 'https://login.example.com'

/** Returns the settings that an app needs for passkeys. */
export const passkeySettings = (given: Record<string, string> = {}) =>
  factorSettings({
    PASSKEY_ORIGINS: `${ORIGIN},https://app.example.com`,
    PASSKEY_RP_ID: 'example.com',
    ...given,
  })

/** An authenticator with its own keys. */
export const aDevice = (options: ConstructorParameters<typeof AuthenticatorEmulator>[0] = {}) =>
  new WebAuthnEmulator(
    new AuthenticatorEmulator({
      credentialsRepository: new PasskeysCredentialsMemoryRepository(),
      ...options,
    }),
  )
