import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { endOf } from './end-of.ts'
import type { ServerAccount } from './server-account.ts'

export interface LeftoverOptions {
  dataDirectory: string
  account: ServerAccount
  log: (line: string) => void
}

/**
 * Stops every PostgreSQL process (server, orphaned child of a killed server, initdb) that works on the data directory,
 * and removes its postmaster.pid. Only the holder of the launcher lock may call it: any such process is then left over.
 * `pg_ctl stop` finds no orphans, and signals whatever process has the recorded pid by now.
 */
export async function stopLeftoverServer({ dataDirectory, account, log }: LeftoverOptions): Promise<void> {
  const find = () => findServerProcesses(dataDirectory, account)
  const found = await find()
  if (found.length > 0) {
    log(`Stopping the PostgreSQL (pid ${found.join(', ')}) that an earlier start left behind`)
    const postmaster = found.find((pid) => pid === recordedPid(dataDirectory))
    // The postmaster stops its children itself; orphans are stopped immediately, since recovery follows anyway.
    if (postmaster !== undefined) await endAll(find, [postmaster], 'SIGINT', 15_000)
    await endAll(find, await find(), 'SIGQUIT', 3_000)
    await endAll(find, await find(), 'SIGKILL', 3_000)
    const alive = await find()
    if (alive.length > 0) {
      throw new Error(
        `A PostgreSQL left behind by an earlier start cannot be stopped; end pid ${alive.join(', ')}`,
      )
    }
  }
  // After a reboot another process may have the recorded pid, and PostgreSQL would refuse to start.
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true })
}

/** Signals the processes once and waits until they have ended or the timeout is over. */
async function endAll(
  find: () => Promise<number[]>,
  targets: number[],
  signal: NodeJS.Signals,
  timeoutMs: number,
): Promise<void> {
  const deadline = Date.now() + timeoutMs
  for (const pid of targets) send(pid, signal)
  while (Date.now() < deadline && (await find()).some((pid) => targets.includes(pid))) await sleep(20)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has ended, or belongs to another user: the caller looks again.
  }
}

/** Every process of a server has the data directory as its working directory. So may a shell: the name tells. */
const SCAN = `
  for process in /proc/[0-9]*; do
    read -r name <"$process/comm" || continue
    [ "$name" = postgres ] || [ "$name" = initdb ] || continue
    [ "$process/cwd" -ef "$1" ] && echo "\${process#/proc/}"
  done
  exit 0`

/** Scans as the server's account: in a container root may not inspect processes of other users (CAP_SYS_PTRACE). */
async function findServerProcesses(dataDirectory: string, account: ServerAccount): Promise<number[]> {
  if (process.platform !== 'linux') return askPs(dataDirectory)
  const child = account.spawn('/bin/sh', ['-c', SCAN, 'sh', dataDirectory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const { stdout, failure } = await endOf(child)
  if (failure) throw new Error(`The processes of PostgreSQL cannot be listed: ${failure}`)
  return stdout.split('\n').filter(Boolean).map(Number)
}

/** Without /proc: the recorded postmaster, if that process still serves this data directory. */
function askPs(dataDirectory: string): number[] {
  const pid = recordedPid(dataDirectory)
  if (pid === undefined || process.platform === 'win32') return []
  try {
    const command = execFileSync('ps', ['-ww', '-o', 'command=', '-p', String(pid)], { encoding: 'utf8' })
    return command.includes(dataDirectory) ? [pid] : []
  } catch {
    return []
  }
}

function recordedPid(dataDirectory: string): number | undefined {
  try {
    const pid = Number(readFileSync(join(dataDirectory, 'postmaster.pid'), 'utf8').split('\n')[0])
    return Number.isInteger(pid) && pid > 0 ? pid : undefined
  } catch {
    return undefined
  }
}
