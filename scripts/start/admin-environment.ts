import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const NAMES = ['APP_ENV', 'DATABASE_URL', 'QUEUE_URL', 'MAIL_URL'] as const

/**
 * Writes where everything is to `<dataDir>/environment`, for the shell of an admin to read: it holds the embedded
 * database's password, so only its owner may. Returns its path, and how to take it away.
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
  // An older one, of a start that was killed, keeps its mode.
  rmSync(path, { force: true })
  writeFileSync(path, lines.join(''), { mode: 0o600 })
  return { path, remove: () => rmSync(path, { force: true }) }
}
