/** How many earlier attempts with each key of an attempt are pending. */
export type EarlierAttempts = ReadonlyMap<string, number>

export interface PendingAttempt {
  earlier(): EarlierAttempts
  /** Resolves once `mayBegin` is true, which is checked now and whenever an earlier attempt ends. */
  until(mayBegin: (earlier: EarlierAttempts) => boolean): Promise<void>
  end(): void
}

interface Attempt {
  /** While the attempt waits. */
  recheck?: (() => void) | undefined
}

/**
 * The pending attempts of this process by their keys, in the order of their arrival. Earlier attempts are counted up to
 * `maximum` only, so that an attempt costs the same in a queue of thousands.
 */
export function createPendingAttempts(maximum: number) {
  const queues = new Map<string, Attempt[]>()
  const queueOf = (key: string): readonly Attempt[] => queues.get(key) ?? []

  function add(attempt: Attempt, key: string): void {
    const queue = queues.get(key) ?? []
    queues.set(key, queue)
    queue.push(attempt)
  }

  function remove(attempt: Attempt, key: string): void {
    const queue = queues.get(key)
    queue?.splice(queue.indexOf(attempt), 1)
    if (queue?.length === 0) queues.delete(key)
  }

  function countEarlier(attempt: Attempt, key: string): number {
    const position = queueOf(key).slice(0, maximum).indexOf(attempt)
    return position < 0 ? maximum : position
  }

  return {
    /** How many attempts with this key are pending. */
    count: (key: string): number => queueOf(key).length,

    /** How many keys attempts are pending with. */
    size: (): number => queues.size,

    /** Adds an attempt at the end of the queue of each of its keys. */
    begin(keys: readonly string[]): PendingAttempt {
      const attempt: Attempt = {}
      for (const key of keys) add(attempt, key)
      const earlier = (): EarlierAttempts => new Map(keys.map((key) => [key, countEarlier(attempt, key)]))
      return {
        earlier,
        until(mayBegin) {
          return new Promise((resolve) => {
            attempt.recheck = () => {
              if (!mayBegin(earlier())) return
              attempt.recheck = undefined
              resolve()
            }
            attempt.recheck()
          })
        },
        end() {
          for (const key of keys) remove(attempt, key)
          // For attempts further back, the count has not changed.
          for (const key of keys) for (const each of queueOf(key).slice(0, maximum)) each.recheck?.()
        },
      }
    },
  }
}
