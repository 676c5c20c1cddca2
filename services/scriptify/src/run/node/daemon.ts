import { setTimeout as sleep } from 'node:timers/promises'

const END_SIGNALS = ['SIGTERM', 'SIGINT'] as const

/**
 * Calls repeatedly, `seconds` apart, until SIGTERM or SIGINT. The first signal lets the call in progress finish; the
 * second has its default effect.
 */
export async function callRepeatedly(call: () => Promise<void>, seconds: number): Promise<void> {
  const { signal } = watchEndSignals()
  while (!signal.aborted) {
    await call()
    await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined)
  }
}

function watchEndSignals(): AbortController {
  const ending = new AbortController()
  const end = () => {
    for (const signal of END_SIGNALS) process.removeListener(signal, end)
    ending.abort()
  }
  for (const signal of END_SIGNALS) process.on(signal, end)
  return ending
}
