import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOther, removeLeftBehind } from './own-folder.ts'

const NAMES = ['APP_ENV', 'API_SERVER', 'DATABASE_URL', 'QUEUE_URL', 'MAIL_URL'] as const

/** The first line of the file, with the process that wrote it. */
const OWNER = /^# Written by process (\d+)$/m

/**
 * Writes the addresses of all services to `<dataDir>/environment`, which an admin's shell reads, or to `environment-<pid>` while
 * another start has that file. Mode 0600, because it contains the password of the embedded database.
 */
export function writeAdminEnvironment(
  dataDir: string,
  environment: Record<string, string | undefined>,
): { path: string; remove: () => void } {
  removeLeftBehind(dataDir, 'environment')
  const common = join(dataDir, 'environment')
  const path = isOfOther(common) ? `${common}-${process.pid}` : common
  const lines = NAMES.flatMap((name) => {
    const value = environment[name]
    return value ? [`export ${name}='${value.replaceAll("'", "'\\''")}'\n`] : []
  })
  // The file of a killed start would keep its mode.
  rmSync(path, { force: true })
  writeFileSync(path, `# Written by process ${process.pid}\n${lines.join('')}`, { mode: 0o600 })
  return { path, remove: () => rmSync(path, { force: true }) }
}

function isOfOther(path: string): boolean {
  try {
    return isOther(Number(OWNER.exec(readFileSync(path, 'utf8'))?.[1] ?? process.pid))
  } catch {
    return false
  }
}
