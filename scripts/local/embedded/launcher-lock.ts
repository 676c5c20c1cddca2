import { accessSync, constants, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { errorMessage } from '@latchkey/shared/error-message.ts'

export interface LauncherLock {
  /** Publishes the port, which the message to a second launcher names. */
  announce(port: number): void
  release(): void
}

const SQLITE_BUSY = 5
const OWNER_WAIT_MS = 400

/**
 * Makes this process the only launcher on the data folder; throws with pid and port of the one that runs already.
 *
 * The lock is a file lock of the operating system, taken through SQLite because Node has no flock. It ends with the
 * process, however that ends, and child processes do not inherit it. `proper-lockfile` decides by the age of a folder:
 * after kill -9 a start would have to wait, and a launcher on a suspended machine would lose its lock.
 */
export async function acquireLauncherLock(dataDir: string): Promise<LauncherLock> {
  const ownerFile = join(dataDir, 'launcher.json')
  const lock = lockFile(join(dataDir, 'launcher.lock'), dataDir)
  if (!lock) throw await describeOwner(ownerFile, dataDir)

  // Information only. A reader ignores a file that is not whole yet and looks again.
  const announce = (port?: number) => writeFileSync(ownerFile, JSON.stringify({ pid: process.pid, port }))
  try {
    announce()
  } catch (cause) {
    lock.close()
    throw lockError(dataDir, cause)
  }
  return {
    announce,
    release: () => {
      if (!lock.isOpen) return
      rmSync(ownerFile, { force: true })
      lock.close()
    },
  }
}

function lockFile(path: string, dataDir: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    // SQLite opens a read-only file without an error, and does not lock it.
    accessSync(path, constants.W_OK)
    // Nothing is written, so there is nothing to recover after a crash.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return database
  } catch (cause) {
    if (database?.isOpen) database.close()
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY) return undefined
    throw lockError(dataDir, cause)
  }
}

function lockError(dataDir: string, cause: unknown): Error {
  const reason = errorMessage(cause)
  return new Error(
    `The data folder ${dataDir} (DATA_DIR) cannot be locked: ${reason}. Does it belong to another user?`,
    { cause },
  )
}

/** Waits for the owner's file, which is written just after the lock is taken. */
async function describeOwner(ownerFile: string, dataDir: string): Promise<Error> {
  const deadline = Date.now() + OWNER_WAIT_MS
  let owner = readOwner(ownerFile)
  while (!owner && Date.now() < deadline) {
    await sleep(20)
    owner = readOwner(ownerFile)
  }
  const state = owner?.port ? `PostgreSQL on port ${owner.port}` : 'still starting'
  const who = owner ? ` with pid ${owner.pid} (${state})` : ''
  return new Error(
    `Latchkey is already running on the data folder ${dataDir}${who}. Stop it first, or set another DATA_DIR.`,
  )
}

/** The running launcher that wrote the file; a file that a killed launcher left is ignored. */
function readOwner(ownerFile: string): { pid: number; port?: number } | undefined {
  try {
    const owner: unknown = JSON.parse(readFileSync(ownerFile, 'utf8'))
    if (typeof owner !== 'object' || owner === null || !('pid' in owner)) return undefined
    const { pid } = owner
    if (typeof pid !== 'number' || !isAlive(pid)) return undefined
    return 'port' in owner && typeof owner.port === 'number' ? { pid, port: owner.port } : { pid }
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
