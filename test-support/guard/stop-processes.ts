import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

/** The time that a process may take to end what it has started. */
const GRACE_MS = 5_000
const PAUSE_MS = 50

/** Ends processes, the groups that they lead, and what they have started; resolves once none of them lives. */
export async function stopProcesses(pids: readonly number[]): Promise<void> {
  const all = [...pids, ...(existsSync('/proc/self/stat') ? descendantsOf(pids) : [])]
  for (const pid of all) send(pid, 'SIGTERM')
  const deadline = Date.now() + GRACE_MS
  while (all.some(isAlive) && Date.now() < deadline) await sleep(PAUSE_MS)
  for (const pid of all) send(pid, 'SIGKILL')
}

/** To the group of a process where it leads one. */
function send(pid: number, signal: NodeJS.Signals): void {
  for (const target of [-pid, pid])
    try {
      process.kill(target, signal)
      return
    } catch {
      // There is none.
    }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function descendantsOf(pids: readonly number[]): number[] {
  const children = readdirSync('/proc').flatMap((name) => {
    const parent = parentOf(name)
    return parent !== undefined && pids.includes(parent) ? [Number(name)] : []
  })
  return children.length === 0 ? [] : [...children, ...descendantsOf(children)]
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of the program, in parentheses, may have any character.
    return Number(/.*\) \S (\d+)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
  } catch {
    return undefined
  }
}
