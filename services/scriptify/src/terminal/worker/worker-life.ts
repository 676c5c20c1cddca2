import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'

/** How often a live worker is checked: a background process may keep its socket open after its death. */
const CHECK_MS = 500
/** How often a dead worker is checked, until its copy takes over or nothing is left. */
const DEAD_CHECK_MS = 50
/** How long messages that a worker wrote before its death may still take to arrive. */
export const GRACE_MS = 300
/** How long a live copy may take to replace its dead worker. */
const TAKEOVER_MS = 10_000

/** The process that evaluates: the child itself, or after its death the copy that took over. */
export interface WorkerLife {
  pid(): number
  /** Whether the child is dead, and its copy evaluates. */
  isCopy(): boolean
  /** How the child ended, if nothing has replaced it. */
  exitReason(): string | undefined
  setCopy(pid: number): void
  /** Another process evaluates from now on. */
  follow(pid: number): void
  /** Calls back when it is known how the child ended, at the latest after GRACE_MS. */
  afterExit(callback: () => void): void
  /** Resolves when the child has ended, with its exit status; undefined if a signal ended it. For a copy, when it is dead. */
  untilEnded(): Promise<number | undefined>
  /** Resolves when the process is dead, or after GRACE_MS. */
  untilDead(): Promise<void>
  stop(): void
}

/** Watches a worker; `onDeath` is called when it is dead and no copy will take over. */
export function watchLife(child: ChildProcess, onDeath: () => void): WorkerLife {
  let pid = child.pid ?? 0
  let copy: number | undefined
  let exitReason: string | undefined
  let hasExited = false
  const isWorkerAlive = () => (pid === child.pid && !hasExited) || isAlive(pid)
  const checks = repeatChecks({
    isWorkerAlive,
    isCopyAlive: () => copy !== undefined && isAlive(copy),
    onDeath,
  })
  child.on('exit', (code, signal) => {
    hasExited = true
    if (pid === child.pid) exitReason = describeExit(code, signal)
    checks.run()
  })
  checks.run()
  return {
    pid: () => pid,
    exitReason: () => exitReason,
    setCopy: (copyPid) => {
      copy = copyPid
    },
    follow(newPid) {
      pid = newPid
      copy = undefined
      exitReason = undefined
      checks.restart()
    },
    afterExit(callback) {
      if (hasExited) return callback()
      child.once('exit', () => callback())
      setTimeout(callback, GRACE_MS).unref()
    },
    async untilEnded() {
      while (isWorkerAlive()) {
        await (pid === child.pid ? once(child, 'exit') : sleep(DEAD_CHECK_MS, undefined, { ref: false }))
      }
      return pid === child.pid ? (child.exitCode ?? undefined) : undefined
    },
    isCopy: () => pid !== child.pid,
    async untilDead() {
      // Gives up in time: without a parent that reaps it, a dead process looks alive forever.
      for (let waited = 0; waited < GRACE_MS && isWorkerAlive(); waited += 10) await sleep(10)
    },
    stop: checks.stop,
  }
}

const describeExit = (code: number | null, signal: NodeJS.Signals | null): string =>
  signal === null ? `it ended with status ${code}` : `it was ended by ${signal}`

interface Checked {
  isWorkerAlive(): boolean
  isCopyAlive(): boolean
  onDeath(): void
}

function repeatChecks({ isWorkerAlive, isCopyAlive, onDeath }: Checked) {
  let deadSince: number | undefined
  let next: NodeJS.Timeout | undefined
  let isStopped = false
  const run = () => {
    clearTimeout(next)
    if (isStopped) return
    if (isWorkerAlive()) {
      deadSince = undefined
      next = setTimeout(run, CHECK_MS).unref()
      return
    }
    deadSince ??= performance.now()
    if (performance.now() - deadSince > (isCopyAlive() ? TAKEOVER_MS : GRACE_MS)) return onDeath()
    next = setTimeout(run, DEAD_CHECK_MS)
  }
  return {
    run,
    restart: () => {
      deadSince = undefined
    },
    stop: () => {
      isStopped = true
      clearTimeout(next)
    },
  }
}

/** For our child the exit event decides, because kill(2) reports its zombie as alive. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export function killQuietly(pid: number): void {
  try {
    if (pid > 0) process.kill(pid, 'SIGKILL')
  } catch {
    // It has ended already.
  }
}
