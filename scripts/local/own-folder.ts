import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Creates `<parent>/<name>-<pid>` for this process alone, mode 0700. Folders of that name whose process is dead, as `kill -9`
 * leaves them, are removed first.
 */
export function createOwnFolder(parent: string, name: string): string {
  removeLeftBehind(parent, name)
  const path = join(parent, `${name}-${process.pid}`)
  mkdirSync(path, { mode: 0o700 })
  return path
}

/** Removes each `<parent>/<name>-<pid>` that another running process does not have. */
export function removeLeftBehind(parent: string, name: string): void {
  for (const entry of readdirSync(parent)) {
    const [, pid] = entry.startsWith(`${name}-`) ? (/-(\d+)$/.exec(entry) ?? []) : []
    if (pid && !isOther(Number(pid))) removeIfPossible(join(parent, entry))
  }
}

/** Returns true for the id of another process that runs. */
export function isOther(pid: number): boolean {
  try {
    // In a container each start may have the same pid.
    return pid !== process.pid && process.kill(pid, 0) && !isZombie(pid)
  } catch (error) {
    // EPERM: it belongs to another user.
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** True where it has ended and its parent does not know yet, as in a container whose first process waits for none. */
function isZombie(pid: number): boolean {
  const stat = `/proc/${pid}/stat`
  return existsSync(stat) && /\) Z /.test(readFileSync(stat, 'utf8'))
}

function removeIfPossible(folder: string): void {
  try {
    // A program that a killed start left may still write there.
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 50 })
  } catch {
    // It belongs to another user, or is removed at a later start.
  }
}
