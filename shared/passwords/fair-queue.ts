/** Whether a client has logged in to this account from this address before. */
export type ClientTrust = 'known' | 'other'

/** The client for whom a password is hashed. */
export interface HashClient {
  address: string
  trust: ClientTrust
  /** Whether nobody waits for the answer any more. Default: somebody does. */
  hasLeft?: () => boolean
}

/**
 * Calls that wait, at most `limit`. Known clients have a lane, and all others. The lanes take turns, and within a lane the
 * addresses: an address with many calls delays the others by one call each. Without room, a call of a known client takes the
 * place of one of another client, and a call of an address with fewer calls that of one in the same lane with more.
 */
export function createFairQueue<Call>(limit: number) {
  const lanes = { known: createLane<Call>(), other: createLane<Call>() }
  let next: ClientTrust = 'known'
  let size = 0

  /** The lane that loses a call for one more of `client`; undefined where that call is refused. */
  function findLoser({ address, trust }: HashClient) {
    if (trust === 'known' && !lanes.other.isEmpty()) return lanes.other
    const lane = lanes[trust]
    return lane.longest() > lane.count(address) + 1 ? lane : undefined
  }

  return {
    /** Whether a call of `client` would be added, and not be refused itself. */
    hasRoom: (client: HashClient): boolean => size < limit || findLoser(client) !== undefined,

    /** Adds a call; returns the call that has to be refused for it, which may be `call` itself. */
    add(call: Call, client: HashClient): Call | undefined {
      const isFull = size >= limit
      const loser = isFull ? findLoser(client) : undefined
      if (isFull && !loser) return call
      const dropped = loser?.drop()
      if (!dropped) size++
      lanes[client.trust].add(client.address, call)
      return dropped
    },

    /** Calls that wait. */
    size: (): number => size,

    /** Removes the call whose turn it is. */
    take(): Call | undefined {
      if (size === 0) return undefined
      size--
      const lane = lanes[next].isEmpty() ? otherThan(next) : next
      next = otherThan(lane)
      return lanes[lane].take()
    },
  }
}

const otherThan = (trust: ClientTrust): ClientTrust => (trust === 'known' ? 'other' : 'known')

/** The calls of one lane by address. The addresses are in the order of their turns. */
function createLane<Call>() {
  const queues = new Map<string, Call[]>()
  const count = (address: string): number => queues.get(address)?.length ?? 0
  const longestAddress = (): string => [...queues.keys()].toSorted((a, b) => count(b) - count(a))[0] ?? ''

  return {
    count,
    isEmpty: () => queues.size === 0,
    add(address: string, call: Call): void {
      queues.set(address, [...(queues.get(address) ?? []), call])
    },
    take(): Call | undefined {
      const [[address, [call, ...others]] = ['', []]] = queues
      queues.delete(address)
      if (others.length > 0) queues.set(address, others)
      return call
    },
    /** How many calls the address with the most has. */
    longest: (): number => count(longestAddress()),
    /** Removes the newest call of the address with the most. */
    drop(): Call | undefined {
      const address = longestAddress()
      const dropped = queues.get(address)?.pop()
      if (count(address) === 0) queues.delete(address)
      return dropped
    },
  }
}
