import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { type Database, type Statement, violatedIndex } from '../database.ts'

type LockDatabase = Pick<Database, 'dialect' | 'query' | 'execute' | 'runScript'>

/** Time that a second migration waits for the first. */
export const LOCK_TIMEOUT_SECONDS = 300
/** How often the holder of the lock says that it is alive, and the silence after which it has died. */
const PACE = { beatMs: 2_000, silenceMs: 20_000 }
const POLL_MS = 200

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
  work: () => Promise<Result>,
  { beatMs, silenceMs } = PACE,
): Promise<Result> {
  const holder = randomUUID()
  await db.runScript(CREATE)
  await take(db, { name, holder, silenceMs })
  const beat = setInterval(() => void db.execute(BEAT, [name, holder]).catch(() => undefined), beatMs)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    // One that stays is taken over as that of a dead holder.
    await db.execute(FREE, [name, holder]).catch(() => undefined)
  }
}

async function take(
  db: LockDatabase,
  { name, holder, silenceMs }: { name: string; holder: string; silenceMs: number },
): Promise<void> {
  const end = Date.now() + LOCK_TIMEOUT_SECONDS * 1_000
  let seen: Holder | undefined
  let seenAt = Date.now()
  while (!(await insert(db, name, holder))) {
    const [row] = await db.query<Holder>(READ, [name])
    if (row?.holder !== seen?.holder || row?.beats !== seen?.beats) {
      seen = row
      seenAt = Date.now()
    }
    const isSilent = Date.now() - seenAt > silenceMs
    if (seen && isSilent && (await db.execute(TAKE_OVER, [name, holder, seen.holder, seen.beats])) === 1)
      return
    if (Date.now() > end) throw lockNotFree(name)
    await wait(POLL_MS)
  }
}

/** Whether the row is ours: the primary key allows one of each name. */
async function insert(db: LockDatabase, name: string, holder: string): Promise<boolean> {
  try {
    await db.execute(TAKE, [name, holder])
    return true
  } catch (error) {
    if (violatedIndex(db, error) === undefined) throw error
    return false
  }
}

/** The error of a migration that waited too long for another one. */
export const lockNotFree = (name: string) =>
  new Error(
    `The lock ${name} was not free within ${LOCK_TIMEOUT_SECONDS} s; wait for the other migration to end, then migrate again`,
  )
