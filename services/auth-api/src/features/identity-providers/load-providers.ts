import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { CONFIG_DIR } from '@latchkey/shared/settings/environment.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { collectFaults, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import type { IdentityProvider, IdentityProviderFactory } from './identity-provider.ts'

/**
 * Builds the providers of OIDC_PROVIDERS, by the factory that `config/<APP_ENV>/external.ts` exports if it exists, or
 * `config/external.ts`. Nothing is loaded where there are none. Throws one `SettingsError` with all faults.
 */
export async function loadProviders(
  names: readonly string[],
  environment: Environment,
  configDir: string = CONFIG_DIR,
): Promise<ReadonlyMap<string, IdentityProvider>> {
  const providers = new Map<string, IdentityProvider>()
  if (names.length === 0) return providers
  const own = join(configDir, environment.APP_ENV ?? 'dev', 'external.ts')
  const path = existsSync(own) ? own : join(configDir, 'external.ts')
  const { IDENTITY_PROVIDERS: create }: { IDENTITY_PROVIDERS?: IdentityProviderFactory } = await import(
    pathToFileURL(path).href
  )
  if (typeof create !== 'function')
    throw new SettingsError([
      `${path} does not export a function IDENTITY_PROVIDERS; export one, or re-export that of ../external.ts.`,
    ])
  const faults = names.flatMap((name) => collectFaults(() => providers.set(name, create(name, environment))))
  if (faults.length > 0) throw new SettingsError(faults)
  return providers
}
