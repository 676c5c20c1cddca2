import { readFile } from 'node:fs/promises'
import { uptime } from 'node:os'

/** Linux counts the time of a process in hundredths of a second (proc(5), USER_HZ). */
const TICKS_PER_SECOND = 100

/** Returns the time for which a process has run, and the memory that it uses; nothing for one that does not exist. */
export async function processFacts(pid: number): Promise<{ uptimeSeconds?: number; memoryBytes?: number }> {
  const read = (file: string) => readFile(`/proc/${pid}/${file}`, 'utf8').catch(() => '')
  const [stat, status] = await Promise.all([read('stat'), read('status')])
  // The name of the program, in parentheses, may contain anything; starttime is the 20th field after it.
  const started = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19])
  const [, kilobytes] = /^VmRSS:\s+(\d+) kB$/m.exec(status) ?? []
  if (!Number.isFinite(started) || kilobytes === undefined) return {}
  return {
    uptimeSeconds: Math.max(0, Math.floor(uptime() - started / TICKS_PER_SECOND)),
    memoryBytes: Number(kilobytes) * 1024,
  }
}
