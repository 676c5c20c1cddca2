/** How many attempts with each key came earlier and are in hand still. */
export type Ahead = ReadonlyMap<string, number>

/** An attempt's place among those in hand. */
export interface Place {
  /** As it is now. */
  ahead(): Ahead
  /** Resolves once `isReached` holds, which is asked now and whenever an earlier attempt ends. */
  until(isReached: (ahead: Ahead) => boolean): Promise<void>
  /** Ends the attempt. */
  leave(): void
}

interface Attempt {
  /** While it waits. */
  recheck?: (() => void) | undefined
}

/**
 * The attempts in hand in this process, by their keys, in the order in which they came. `Ahead` counts no further than
 * `reach`, so that an attempt costs the same in a line of thousands.
 */
export function createInHand(reach: number) {
  const lines = new Map<string, Attempt[]>()
  const lineOf = (key: string): readonly Attempt[] => lines.get(key) ?? []

  function join(attempt: Attempt, key: string): void {
    const line = lines.get(key) ?? []
    lines.set(key, line)
    line.push(attempt)
  }

  function leave(attempt: Attempt, key: string): void {
    const line = lines.get(key)
    line?.splice(line.indexOf(attempt), 1)
    if (line?.length === 0) lines.delete(key)
  }

  function countAhead(attempt: Attempt, key: string): number {
    const position = lineOf(key).slice(0, reach).indexOf(attempt)
    return position < 0 ? reach : position
  }

  return {
    /** How many attempts with this key are in hand. */
    count: (key: string): number => lineOf(key).length,

    enter(keys: readonly string[]): Place {
      const attempt: Attempt = {}
      for (const key of keys) join(attempt, key)
      const ahead = (): Ahead => new Map(keys.map((key) => [key, countAhead(attempt, key)]))
      return {
        ahead,
        until(isReached) {
          return new Promise((resolve) => {
            attempt.recheck = () => {
              if (!isReached(ahead())) return
              attempt.recheck = undefined
              resolve()
            }
            attempt.recheck()
          })
        },
        leave() {
          for (const key of keys) leave(attempt, key)
          // For those further behind, nothing has changed.
          for (const key of keys) for (const each of lineOf(key).slice(0, reach)) each.recheck?.()
        },
      }
    },
  }
}
