import type { Environment } from '@latchkey/shared/settings/setting.ts'

/** A person as a provider describes them. */
export interface Identity {
  /** The id that the provider never gives to another person: of at most 255 visible ASCII characters. */
  subject: string
  email?: string | undefined
  /** True where the provider says that the person receives the mail of that address. */
  isEmailVerified: boolean
  name?: string | undefined
  /** True where the provider has asked for a second factor, in a way that suffices here. */
  hasSecondFactor: boolean
}

/** What a login keeps from its start until its callback. It is sealed, and only the browser of the login has it. */
export interface LoginSecrets {
  state: string
  nonce: string
  codeVerifier: string
}

/** A service at which users log in. A team's own is built by `IDENTITY_PROVIDERS` of `config/external.ts`. */
export interface IdentityProvider {
  /** The name on its button and in mails. */
  label: string
  /** Returns the address to which the browser is sent, and what `complete` needs. */
  begin(redirectUri: string): Promise<{ url: URL; secrets: LoginSecrets }>
  /** Returns who came back to `url`, which is the callback with its query. Throws `LoginRefused`, or any error for a fault. */
  complete(url: URL, secrets: LoginSecrets): Promise<Identity>
}

/** Builds the provider called `name` in OIDC_PROVIDERS from the settings; throws `SettingsError`. */
export type IdentityProviderFactory = (name: string, environment: Environment) => IdentityProvider

/** The person cancelled, or the provider refused to log the person in. */
export class LoginRefused extends Error {
  override readonly name = 'LoginRefused'
}
