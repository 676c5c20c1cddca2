import { configureExtensions } from '@latchkey/shared/extensions/configure-extensions.ts'
import { loadExtensions } from '@latchkey/shared/extensions/load-extensions.ts'
import { loadConfig } from '@latchkey/shared/settings/environment.ts'
import { parseSettings } from '@latchkey/shared/settings/parse-settings.ts'
import type { Environment } from '@latchkey/shared/settings/setting.ts'
import { collectFaults, SettingsError } from '@latchkey/shared/settings/settings-error.ts'
import { hasDemoUsers } from '@latchkey/shared/users/demo-users.ts'
import { parseConfig as parseAuthApi } from '../../services/auth-api/src/config.ts'
import { parseConfig as parseMailerWorker } from '../../services/mailer-worker/src/config.ts'

/** The values that `npm start` provides where no setting does; the real addresses are known later. */
const providedIn = (environment?: string) => ({
  DATABASE_URL: 'postgres://embedded',
  QUEUE_URL: 'postgres://embedded',
  // An inbox shows the codes of all accounts to everybody on this machine.
  ...(hasDemoUsers(environment) ? { MAIL_URL: 'smtp://embedded' } : {}),
})

/** The address of this machine only: `npm start` shows everything to every client that can connect. */
const HOST = '127.0.0.1'

/**
 * Reads the environment of `npm start`; throws one `SettingsError` with its faults, those of both services and of the
 * extensions, or `ExtensionError`.
 */
export async function loadLaunchEnvironment(processEnvironment: NodeJS.ProcessEnv): Promise<Environment> {
  const { environment: given } = await loadConfig(requireValidSettings, processEnvironment)
  return { ...given, HOST: given.HOST || HOST }
}

async function requireValidSettings(environment: Environment): Promise<void> {
  const given = Object.entries(environment).filter(([, value]) => value)
  const complete: Environment = { ...providedIn(environment.APP_ENV), ...Object.fromEntries(given) }
  const extensions = await loadExtensions()
  const faults = collectFaults(
    () => parseSettings(['DATA_DIR'], complete),
    () => parseAuthApi(complete),
    () => parseMailerWorker(complete),
    () => configureExtensions(extensions, complete),
  )
  if (faults.length > 0) throw new SettingsError(faults)
}
