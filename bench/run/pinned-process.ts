import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism } from 'node:os'

/** The service that is measured has the first core for itself; everything else shares the others. */
type Place = 'service' | 'load'

const CORES = availableParallelism()
const CORES_OF: Readonly<Record<Place, string>> = { service: '0', load: CORES > 2 ? `1-${CORES - 1}` : '1' }

export const canPin = CORES > 1 && hasTaskset()

/** Moves this process, and with it what it starts from now on, to the cores of the load. */
export function pinBenchmark(): void {
  if (canPin) execFileSync('taskset', ['-a', '-c', '-p', CORES_OF.load, String(process.pid)])
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
