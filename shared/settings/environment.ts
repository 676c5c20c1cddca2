import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { SettingsError } from './parse-settings.ts'

/** The folder `config/` of this checkout or image. */
export const CONFIG_DIR: string = join(import.meta.dirname, '..', '..', 'config')

/**
 * The environment a service runs with: `config/<APP_ENV>/settings.env`, over it `credentials.env`, over that the
 * file that `CREDENTIALS_FILE` names (a secret mounted into a container), over all the process environment.
 * A missing `credentials.env` is no fault: the secrets may come from the process. A missing `CREDENTIALS_FILE` is one.
 */
export function loadEnvironment(
  processEnvironment: NodeJS.ProcessEnv,
  configDir: string = CONFIG_DIR,
): Record<string, string | undefined> {
  const name = processEnvironment.APP_ENV || 'dev'
  // Checked before it becomes part of a path.
  if (!/^[a-z][a-z0-9-]*$/.test(name)) {
    throw new SettingsError([
      'APP_ENV must be lower-case letters, digits and dashes. For example: APP_ENV=prod',
    ])
  }
  const given = Object.entries(processEnvironment).filter(([, value]) => value !== '')
  return {
    ...readEnvFile(join(configDir, name, 'settings.env')),
    ...readEnvFile(join(configDir, name, 'credentials.env')),
    ...readCredentialsFile(processEnvironment.CREDENTIALS_FILE),
    ...Object.fromEntries(given),
    APP_ENV: name,
  }
}

function readCredentialsFile(path: string | undefined): Record<string, string | undefined> {
  if (!path) return {}
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    throw new SettingsError([`CREDENTIALS_FILE cannot be read (${reason}).`])
  }
}

function readEnvFile(path: string): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync(path, 'utf8'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return {}
    throw error
  }
}
