import { randomUUID } from 'node:crypto'
import { type Database, type Statement, violatedIndex } from '../database.ts'
import { pollLock, whileHeld } from '../wait-for-lock.ts'

type LockDatabase = Pick<Database, 'dialect' | 'query' | 'execute' | 'runScript'>

/** The time between two signs of life of the holder of the lock, and the silence after which it counts as dead. */
export const PACE = { beatMs: 2_000, silenceMs: 20_000 }

const CREATE = `create table if not exists latchkey_lock (
  name varchar(64) not null primary key,
  holder char(36) not null,
  beats integer not null default 0
) engine = InnoDB`
const TAKE: Statement = {
  name: 'lock-take',
  text: 'insert into latchkey_lock (name, holder) values ($1, $2)',
}
const READ: Statement = { name: 'lock-read', text: 'select holder, beats from latchkey_lock where name = $1' }
const TAKE_OVER: Statement = {
  name: 'lock-take-over',
  text: 'update latchkey_lock set holder = $2, beats = 0 where name = $1 and holder = $3 and beats = $4',
}
const BEAT: Statement = {
  name: 'lock-beat',
  text: 'update latchkey_lock set beats = beats + 1 where name = $1 and holder = $2',
}
const FREE: Statement = {
  name: 'lock-free',
  text: 'delete from latchkey_lock where name = $1 and holder = $2',
}

interface Holder {
  holder: string
  beats: number
}

/**
 * Runs `work` while a row has the name of the lock. In a cluster `get_lock` locks one node only; the row is replicated, and
 * of two nodes one refuses it. No clock of a server is read: the row of a holder that died is the one that does not change
 * while another process watches it.
 */
export async function withRowLock<Result>(
  db: LockDatabase,
  name: string,
  work: (requireHeld: () => Promise<void>) => Promise<Result>,
  { beatMs, silenceMs, onWait }: typeof PACE & { onWait?: (text: string) => void } = PACE,
): Promise<Result> {
  const holder = randomUUID()
  await db.runScript(CREATE)
  await pollLock(name, createTake(db, { name, holder, silenceMs }), onWait)
  try {
    return await whileHeld(name, async () => (await db.execute(BEAT, [name, holder])) === 1, work, beatMs)
  } finally {
    // One that stays is taken over as that of a dead holder.
    await db.execute(FREE, [name, holder]).catch(() => undefined)
  }
}

/** Creates the attempt that takes the lock, also over from a holder that was silent, or returns who has it. */
function createTake(
  db: LockDatabase,
  { name, holder, silenceMs }: { name: string; holder: string; silenceMs: number },
): () => Promise<string | undefined> {
  let seen: Holder | undefined
  let seenAt = Date.now()
  return async () => {
    if (await insert(db, name, holder)) return undefined
    const [row] = await db.query<Holder>(READ, [name])
    if (row?.holder !== seen?.holder || row?.beats !== seen?.beats) {
      seen = row
      seenAt = Date.now()
    }
    const isSilent = Date.now() - seenAt > silenceMs
    if (seen && isSilent && (await db.execute(TAKE_OVER, [name, holder, seen.holder, seen.beats])) === 1)
      return undefined
    return `a row of latchkey_lock, silent for ${Math.round((Date.now() - seenAt) / 1_000)} s`
  }
}

/** Returns true if the row is ours: the primary key allows one of each name. */
async function insert(db: LockDatabase, name: string, holder: string): Promise<boolean> {
  try {
    await db.execute(TAKE, [name, holder])
    return true
  } catch (error) {
    if (violatedIndex(db, error) === undefined) throw error
    return false
  }
}
