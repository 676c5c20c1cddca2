import { setTimeout as wait } from 'node:timers/promises'

/** The times for which a migration waits for a lock on a table. */
export interface LockWaits {
  /** Time after which an attempt fails, in milliseconds: statements that wait behind it get through. */
  timeoutMs: number
  /** Time between two attempts, in milliseconds. */
  pauseMs: number
  /** Time after which no further attempt is made, in milliseconds. */
  giveUpMs: number
  /** Called before each attempt; throws where another migration may run. */
  requireHeld(): Promise<void>
  /** Receives what the script waits for and who holds it. */
  onWait(text: string): void
}

/** A driver's knowledge of a script that waits for a lock. */
interface Attempts {
  /** True where an attempt has failed because it waited for too long. */
  isTimeout(error: unknown): boolean
  /** Describes the lock that the script waits for at this moment, and who holds it; undefined where it does not wait. */
  findHolder(): Promise<string | undefined>
}

/** Runs `work`, and runs it again while others hold the locks that it needs. */
export async function runWhenFree(
  work: () => Promise<void>,
  { isTimeout, findHolder }: Attempts,
  { timeoutMs, pauseMs, giveUpMs, requireHeld, onWait }: LockWaits,
): Promise<void> {
  const end = Date.now() + giveUpMs
  let holder: string | undefined
  async function look(): Promise<void> {
    const found = await findHolder()
    if (found === undefined || found === holder) return
    holder = found
    onWait(`waits for ${found}`)
  }
  for (;;) {
    await requireHeld()
    const timer = setInterval(() => void look().catch(() => undefined), timeoutMs / 4)
    try {
      return await work()
    } catch (error) {
      if (!isTimeout(error)) throw error
      if (Date.now() > end)
        throw new Error(
          `waited ${giveUpMs / 1_000} s for ${holder ?? 'a lock'}; end that transaction, then migrate again`,
          { cause: error },
        )
    } finally {
      clearInterval(timer)
    }
    await wait(pauseMs)
  }
}

/** Time that a second migration waits for the first. */
const LOCK_TIMEOUT_SECONDS = 300
const POLL_MS = 200

/** Repeats `attempt` until the lock is ours: it then returns undefined, and before that who holds the lock. */
export async function pollLock(
  name: string,
  attempt: () => Promise<string | undefined>,
  onWait: (text: string) => void = () => undefined,
): Promise<void> {
  const end = Date.now() + LOCK_TIMEOUT_SECONDS * 1_000
  for (let isFirst = true; ; isFirst = false) {
    const holder = await attempt()
    if (holder === undefined) return
    if (isFirst) onWait(`waits for another migration, which has the lock ${name}: ${holder}`)
    if (Date.now() > end)
      throw new Error(
        `The lock ${name} was not free within ${LOCK_TIMEOUT_SECONDS} s; wait for the other migration to end, then migrate again (${holder})`,
      )
    await wait(POLL_MS)
  }
}

/** The time between two uses of the connection that holds the lock: a server or a proxy would close an idle one. */
const BEAT_MS = 2_000

/**
 * Runs `work` while `isHeld` is asked again and again. `work` gets a function that throws once the lock is lost, and is to be
 * called before each change.
 */
export async function whileHeld<Result>(
  name: string,
  isHeld: () => Promise<boolean>,
  work: (requireHeld: () => Promise<void>) => Promise<Result>,
  beatMs = BEAT_MS,
): Promise<Result> {
  const beat = setInterval(() => void isHeld().catch(() => undefined), beatMs)
  try {
    return await work(async () => {
      if (!(await isHeld().catch(() => false)))
        throw new Error(
          `The lock ${name} was lost with its connection, so that another migration may run: nothing more was changed. Migrate again`,
        )
    })
  } finally {
    clearInterval(beat)
  }
}
