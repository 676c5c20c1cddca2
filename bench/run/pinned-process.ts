import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { availableParallelism } from 'node:os'

/** The service that is measured has the first core for itself; everything else shares the others. */
type Place = 'service' | 'load'

const CORES = availableParallelism()
const CORES_OF: Readonly<Record<Place, string>> = { service: '0', load: CORES > 2 ? `1-${CORES - 1}` : '1' }

export const canPin = CORES > 1 && hasTaskset()

/** Moves this process, and with it what it starts from now on, to the cores of the load. */
export function pinBenchmark(): void {
  if (!canPin) return
  // Each thread by itself: a thread of Node's may end meanwhile.
  for (const thread of readdirSync('/proc/self/task')) {
    const { status, stderr } = spawnSync('taskset', ['-c', '-p', CORES_OF.load, thread], { encoding: 'utf8' })
    if (status !== 0 && existsSync(`/proc/self/task/${thread}`))
      throw new Error(`The benchmark cannot be moved to other cores than the service: ${stderr}`)
  }
}

/** Runs a TypeScript file with an IPC channel, on its own core where `taskset` is installed. */
export function spawnPinned(
  place: Place,
  file: string,
  env: NodeJS.ProcessEnv,
  options: readonly string[] = [],
): ChildProcess {
  const node = [process.execPath, ...options, file] as const
  const [command = '', ...args] = canPin ? ['taskset', '-c', CORES_OF[place], ...node] : node
  return spawn(command, args, {
    env,
    stdio: ['ignore', place === 'service' ? 'ignore' : 'inherit', 'inherit', 'ipc'],
  })
}

/** Resolves with the next message of a process; rejects when it ends before. */
export async function nextMessage<Message>(name: string, child: ChildProcess): Promise<Message> {
  const ended = once(child, 'exit').then(([code, signal]) => {
    throw new Error(`The process of ${name} ended with ${code ?? signal}`)
  })
  ended.catch(() => undefined) // It ends later, too.
  // The child is one of the benchmark's own: nothing else knows the type of its messages.
  const [message] = (await Promise.race([once(child, 'message'), ended])) as [Message]
  return message
}

function hasTaskset(): boolean {
  try {
    execFileSync('taskset', ['--version'], { stdio: 'pipe' })
    return true
  } catch {
    return false
  }
}
