import { accessSync, constants, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'

export interface LauncherLock {
  /** Lets a second start say where the first one listens. */
  announce(port: number): void
  release(): void
}

const SQLITE_BUSY = 5
const OWNER_WAIT_MS = 400

/**
 * Makes this process the only launcher on the data folder; throws with the pid and port of the one that is there.
 *
 * The lock is the operating system's, taken through SQLite, because Node has no flock: it goes away with the process
 * however that ends, so there is no stale lock to recognise, no recycled pid to mistake, and of two starts at the
 * very same moment one wins. Child processes do not inherit it. The file beside it only says who it is.
 */
export async function acquireLauncherLock(dataDir: string): Promise<LauncherLock> {
  const ownerFile = join(dataDir, 'launcher.json')
  const held = lockFile(join(dataDir, 'launcher.lock'), dataDir)
  if (!held) throw await describeOwner(ownerFile, dataDir)

  const announce = (port?: number) => writeAtomically(ownerFile, JSON.stringify({ pid: process.pid, port }))
  try {
    announce()
  } catch (cause) {
    held.close()
    throw lockError(dataDir, cause)
  }
  return {
    announce,
    release: () => {
      if (!held.isOpen) return
      rmSync(ownerFile, { force: true })
      held.close()
    },
  }
}

function lockFile(path: string, dataDir: string): DatabaseSync | undefined {
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path, { timeout: 0 })
    // SQLite opens a file that it may only read without a word, and would not lock it.
    accessSync(path, constants.W_OK)
    // Nothing is ever written, so nothing has to survive.
    database.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return database
  } catch (cause) {
    if (database?.isOpen) database.close()
    if (cause instanceof Error && 'errcode' in cause && cause.errcode === SQLITE_BUSY) return undefined
    throw lockError(dataDir, cause)
  }
}

function lockError(dataDir: string, cause: unknown): Error {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new Error(
    `The data folder ${dataDir} (DATA_DIR) cannot be locked: ${reason}. Does it belong to another user?`,
    { cause },
  )
}

/** Waits a moment, as the owner writes its name just after it took the lock. */
async function describeOwner(ownerFile: string, dataDir: string): Promise<Error> {
  const deadline = Date.now() + OWNER_WAIT_MS
  let owner = readOwner(ownerFile)
  while (!owner && Date.now() < deadline) {
    await sleep(20)
    owner = readOwner(ownerFile)
  }
  const where = owner?.port ? `PostgreSQL on port ${owner.port}` : 'still starting'
  const who = owner ? ` with pid ${owner.pid} (${where})` : ''
  return new Error(
    `Latchkey is already running on the data folder ${dataDir}${who}. Stop it first, or set another DATA_DIR.`,
  )
}

/** The living launcher that wrote the file; what a killed one wrote does not count. */
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

function writeAtomically(path: string, text: string): void {
  writeFileSync(`${path}.new`, text)
  renameSync(`${path}.new`, path)
}
