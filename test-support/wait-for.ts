import { setTimeout as wait } from 'node:timers/promises'

export interface WaitOptions {
  timeoutMs?: number
  /** Describes what was seen last, for the error. */
  lastSeen?: () => string
}

/** Resolves once `condition` holds; throws when it does not within `timeoutMs`, with the condition and what was seen last. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  { timeoutMs = 120_000, lastSeen }: WaitOptions = {},
): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > end) {
      const seen = lastSeen ? `\nLast seen: ${lastSeen()}` : ''
      throw new Error(`It did not come true within ${timeoutMs} ms: ${condition}${seen}`)
    }
    await wait(50)
  }
}
