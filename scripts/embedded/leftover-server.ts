import { execFileSync } from 'node:child_process'
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ServerAccount } from './server-account.ts'

export interface LeftoverOptions {
  dataDirectory: string
  account: ServerAccount
  log: (line: string) => void
}

/**
 * Stops the server, or the orphaned children of a killed one, that still work on the data directory, and clears away
 * their postmaster.pid; an initdb likewise. To be called by the holder of the launcher lock only: any such server is a leftover then.
 */
export async function stopLeftoverServer({ dataDirectory, account, log }: LeftoverOptions): Promise<void> {
  const find = () => findServerProcesses(dataDirectory, account)
  const found = await find()
  if (found.length > 0) {
    log(`Stopping the PostgreSQL (pid ${found.join(', ')}) that an earlier start left behind`)
    const postmaster = found.find((pid) => pid === recordedPid(dataDirectory))
    // The postmaster ends its children by itself; orphans get the immediate stop, as recovery follows anyway.
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
  // After a reboot the pid may be somebody else's by now, and PostgreSQL would refuse to start.
  rmSync(join(dataDirectory, 'postmaster.pid'), { force: true })
}

/** Signals them once, and waits until they are gone or the time is over. */
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
    // Gone in the meantime, or not ours: the caller looks again.
  }
}

/** Every process of a server works in its data directory. A shell that somebody opened there has another name. */
const SCAN = `
  for process in /proc/[0-9]*; do
    read -r name <"$process/comm" || continue
    [ "$name" = postgres ] || [ "$name" = initdb ] || continue
    [ "$process/cwd" -ef "$1" ] && echo "\${process#/proc/}"
  done`

/** Asks as the account of the server: in a container root may not look at the processes of others (CAP_SYS_PTRACE). */
async function findServerProcesses(dataDirectory: string, account: ServerAccount): Promise<number[]> {
  if (process.platform !== 'linux') return askPs(dataDirectory)
  const child = account.spawn('/bin/sh', ['-c', SCAN, 'sh', dataDirectory], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  let said = ''
  child.stdout?.on('data', (chunk) => {
    said += chunk
  })
  await new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', resolve)
  })
  return said.split('\n').filter(Boolean).map(Number)
}

/** Where there is no /proc: the recorded postmaster, if that pid still is one for this data directory. */
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
