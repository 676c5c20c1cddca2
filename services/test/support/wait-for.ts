import { setTimeout as wait } from 'node:timers/promises'

/** Resolves once `condition` holds; throws when it does not within `timeoutMs`. */
export async function waitFor(
  condition: () => boolean | Promise<boolean>,
  timeoutMs = 120_000,
): Promise<void> {
  const end = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come true within ${timeoutMs} ms: ${condition}`)
    await wait(50)
  }
}
