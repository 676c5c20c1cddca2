/** How far a client is trusted, best first: it has logged in to this account before; nothing is known; a login failed recently. */
const TRUST = ['known', 'new', 'failed'] as const

export type ClientTrust = (typeof TRUST)[number]

/** The client for whom a password is hashed. */
export interface HashClient {
  address: string
  trust: ClientTrust
  /** Whether nobody waits for the answer any more. Default: somebody does. */
  hasLeft?: () => boolean
}

/**
 * Calls that wait, at most `limit`. There is a lane for each trust. The lanes take turns, and within a lane the addresses: an address with many
 * calls delays the others by one call each. Without room, a call of a better trusted client, or of an address with fewer calls,
 * takes the place of another one.
 */
export function createFairQueue<Call>(limit: number) {
  const lanes = TRUST.map((trust) => ({ trust, ...createLane<Call>() }))
  const turns = [...lanes]
  let size = 0

  /** The lane that loses a call for one more of `client`; undefined where that call is refused. */
  function findLoser({ address, trust }: HashClient) {
    for (const lane of lanes.toReversed()) {
      const isSame = lane.trust === trust
      if (lane.longest() > (isSame ? lane.count(address) + 1 : 0)) return lane
      if (isSame) return undefined
    }
    return undefined
  }

  return {
    /** Whether a call of `client` would be added, and not be refused itself. */
    hasRoom: (client: HashClient): boolean => size < limit || findLoser(client) !== undefined,

    /** Adds a call; returns the call that has to be refused for it, which may be `call` itself. */
    add(call: Call, client: HashClient): Call | undefined {
      const loser = size < limit ? undefined : findLoser(client)
      if (size >= limit && !loser) return call
      const dropped = loser?.drop()
      if (!loser) size++
      lanes.find(({ trust }) => trust === client.trust)?.add(client.address, call)
      return dropped
    },

    /** Calls that wait. */
    size: (): number => size,

    /** Removes the call whose turn it is. */
    take(): Call | undefined {
      const lane = turns.find((each) => !each.isEmpty())
      if (!lane) return undefined
      turns.push(...turns.splice(turns.indexOf(lane), 1))
      size--
      return lane.take()
    },
  }
}

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
