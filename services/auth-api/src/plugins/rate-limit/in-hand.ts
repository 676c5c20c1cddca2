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
  ahead: Map<string, number>
  recheck?: () => void
}

/** The attempts in hand in this process, by their keys, in the order in which they came. */
export function createInHand() {
  const lines = new Map<string, Set<Attempt>>()

  function join(attempt: Attempt, key: string): void {
    const line = lines.get(key) ?? new Set()
    lines.set(key, line)
    attempt.ahead.set(key, line.size)
    line.add(attempt)
  }

  /** Returns who moves up. */
  function leave(attempt: Attempt, key: string): Attempt[] {
    const line = [...(lines.get(key) ?? [])]
    const left = line.filter((each) => each !== attempt)
    if (left.length > 0) lines.set(key, new Set(left))
    else lines.delete(key)
    const behind = line.slice(line.indexOf(attempt) + 1)
    for (const each of behind) each.ahead.set(key, (each.ahead.get(key) ?? 1) - 1)
    return behind
  }

  return {
    enter(keys: readonly string[]): Place {
      const attempt: Attempt = { ahead: new Map() }
      for (const key of keys) join(attempt, key)
      return {
        ahead: () => new Map(attempt.ahead),
        until(isReached) {
          return new Promise((resolve) => {
            attempt.recheck = () => void (isReached(attempt.ahead) && resolve())
            attempt.recheck()
          })
        },
        leave() {
          const behind = new Set(keys.flatMap((key) => leave(attempt, key)))
          for (const each of behind) each.recheck?.()
        },
      }
    },
  }
}
