import { Script } from 'node:vm'

const INTERVAL_MS = 60_000

/**
 * Lets V8 return memory to the system once the process is idle. V8 collects then only if little is allocated in each of its
 * heaps, and takes a heap in which nothing was ever allocated for a busy one. That is so for the heap of Node's C++ objects,
 * of which a service creates none; a script is such an object. V8 forgets what was allocated minutes ago.
 */
export function collectWhenIdle(): void {
  const allocate = () => void new Script('')
  allocate()
  setInterval(allocate, INTERVAL_MS).unref()
}
