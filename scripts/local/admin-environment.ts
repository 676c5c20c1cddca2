import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAMES = ['APP_ENV', 'API_SERVER', 'DATABASE_URL', 'QUEUE_URL', 'MAIL_URL'] as const

/**
 * Writes the addresses of all services to `<dataDir>/environment`, which an admin's shell reads. Mode 0600, because it
 * contains the password of the embedded database.
 */
export function writeAdminEnvironment(
  dataDir: string,
  environment: Record<string, string | undefined>,
): { path: string; remove: () => void } {
  const path = join(dataDir, 'environment')
  const lines = NAMES.flatMap((name) => {
    const value = environment[name]
    return value ? [`export ${name}='${value.replaceAll("'", "'\\''")}'\n`] : []
  })
  // The file of a killed start would keep its mode.
  rmSync(path, { force: true })
  writeFileSync(path, lines.join(''), { mode: 0o600 })
  return { path, remove: () => rmSync(path, { force: true }) }
}
