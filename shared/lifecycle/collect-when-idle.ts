import { performance } from 'node:perf_hooks'
import { getHeapStatistics } from 'node:v8'
import { Script } from 'node:vm'

const ALLOCATE_MS = 60_000
const CHECK_MS = 1_000
/** Of the time of the event loop. */
const IDLE_UTILIZATION = 0.1
const IDLE_CHECKS = 2
/** A growth that is worth the pause. */
const GROWTH_BYTES = 32 * 2 ** 20

/** Lets V8 return memory to the system once the process is idle: at once what a start or an overload has left, and slowly the rest. */
export function collectWhenIdle(): void {
  letV8Collect()
  collectAfterGrowth()
}

/**
 * V8 collects slowly on an idle process, but only if little is allocated in each of its heaps, and takes a heap in which
 * nothing was ever allocated for a busy one. That is so for the heap of Node's C++ objects, of which a service creates
 * none; a script is such an object. V8 forgets what was allocated minutes ago.
 */
function letV8Collect(): void {
  const allocate = () => void new Script('')
  allocate()
  setInterval(allocate, ALLOCATE_MS).unref()
}

/** Collects two to three seconds after the load that made the process grow, the start among them. */
function collectAfterGrowth(): void {
  let settledBytes = -Infinity
  let idleChecks = 0
  let last = performance.eventLoopUtilization()
  const check = () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    idleChecks = utilization < IDLE_UTILIZATION ? idleChecks + 1 : 0
    if (idleChecks < IDLE_CHECKS) return
    const residentBytes = process.memoryUsage.rss()
    if (residentBytes - settledBytes < GROWTH_BYTES) {
      settledBytes = Math.min(settledBytes, residentBytes)
      return
    }
    collectAll()
    settledBytes = process.memoryUsage.rss()
  }
  setInterval(check, CHECK_MS).unref()
}

/**
 * Collects and returns the pages to the system, which V8 otherwise keeps for later: it does so when the memory outside its
 * heap grows by more than half of the heap's limit. The buffer is never written to, so that it takes no memory.
 */
function collectAll(): void {
  try {
    new ArrayBuffer(getHeapStatistics().heap_size_limit / 2).transfer(0)
  } catch {
    // Where the system grants no such buffer, V8 has collected in search of the memory.
  }
}
