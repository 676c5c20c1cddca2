import { type ChildProcess, spawn } from 'node:child_process'
import { subscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { chmod, mkdtemp } from 'node:fs/promises'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { stopProcesses } from './stop-processes.ts'

/** The processes, containers and files that a process of a run has started. */
export interface Started {
  pids: number[]
  folders: string[]
}

const children = new Set<ChildProcess>()
const folders = new Set<string>()
let connection: Socket | undefined

/**
 * Starts a process that outlives this run: it ends and removes what a process of the run had started when that was killed or
 * interrupted, and the folder for temporary files after each run. Resolves with its address, which is in that folder.
 */
export async function startGuard(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'latchkey-guard-'))
  // As /tmp: tests start programs as other users.
  await chmod(folder, 0o1777)
  const path = join(folder, 'socket')
  const guard = spawn(process.execPath, [join(import.meta.dirname, 'guard-program.ts'), path], {
    // Ctrl-C is for a whole group of processes.
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  await once(guard.stdout, 'data')
  guard.stdout.destroy()
  guard.unref()
  return path
}

/** From now on the guard knows each process that this one starts, and temporary files are in the folder that it removes. */
export async function connectToGuard(path: string): Promise<void> {
  if (connection) return
  process.env.TMPDIR = dirname(path)
  connection = connect(path).unref()
  // A run goes on where its guard was killed.
  connection.on('error', () => undefined)
  await once(connection, 'connect')
  subscribe('child_process', (message) => {
    const { process: child } = message as { process: ChildProcess }
    child.once('spawn', () => {
      children.add(child)
      report()
    })
    child.once('exit', () => {
      children.delete(child)
      report()
    })
  })
}

/** The guard removes the folder unless `forgetFolder` is called first. */
export function guardFolder(folder: string): void {
  folders.add(folder)
  report()
}

export function forgetFolder(folder: string): void {
  folders.delete(folder)
  report()
}

/** Ends what this process has started and not ended; resolves with the commands. */
export async function stopStarted(): Promise<string[]> {
  const left = [...children].filter(({ exitCode, signalCode }) => exitCode === null && signalCode === null)
  await stopProcesses(left.flatMap(({ pid }) => pid ?? []))
  return left.map(({ spawnargs }) => spawnargs.join(' '))
}

function report(): void {
  const started: Started = { pids: [...children].flatMap(({ pid }) => pid ?? []), folders: [...folders] }
  connection?.write(`${JSON.stringify(started)}\n`)
}
