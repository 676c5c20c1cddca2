import { LRUCache } from 'lru-cache'

/** `known`: a client that has logged in to this account from this address before, or that has shown a token or a code of it. */
export type ClientTrust = 'known' | 'other'

/** The client for whom a password is hashed. */
export interface HashClient {
  address: string
  /** The key of the account, whose successful logins count. */
  account?: string
  trust: ClientTrust
  /** Returns true where nobody waits for the answer any more. Default: somebody does. */
  hasLeft?: () => boolean
}

interface Waiting<Call> {
  call: Call
  client: HashClient
  /** The recent calls of its address and successful logins of its account. The call with the most is refused first. */
  recentCalls: number
}

interface Queue<Call> {
  /** The waiting calls of each address, in the order in which the addresses take turns. */
  byAddress: Map<string, Waiting<Call>[]>
  /** Places that the other queue cannot take. */
  reserved: number
}

/** Recent calls are forgotten a minute after the first of them, however many follow. */
const FORGOTTEN_AFTER_MS = 60_000
/** Addresses and accounts that are remembered. */
const MAX_REMEMBERED = 10_000

/**
 * Creates a queue of at most `limit` calls.
 *
 * - Known clients have one queue, and all others another one. The queues take turns, and within a queue the addresses do.
 * - Half of the places are reserved for each queue, which uses those that the other one leaves free. When all are taken, the
 *   queue with more than its half loses a call to the other one.
 * - Within a queue, a call then takes the place of one whose address has had more calls, and whose account more successful
 *   logins, together over a minute.
 */
export function createFairQueue<Call>(limit: number) {
  const queues: Record<ClientTrust, Queue<Call>> = {
    known: { byAddress: new Map(), reserved: Math.ceil(limit / 2) },
    other: { byAddress: new Map(), reserved: Math.floor(limit / 2) },
  }
  const remembered = new LRUCache<string, number>({
    max: MAX_REMEMBERED,
    ttl: FORGOTTEN_AFTER_MS,
    noUpdateTTL: true,
  })
  let next: ClientTrust = 'known'

  const size = () => waitingIn(queues.known).length + waitingIn(queues.other).length
  const countOf = (key: string): number => remembered.get(key) ?? 0
  const count = (key: string, more: number) => void remembered.set(key, Math.max(0, countOf(key) + more))
  const recentCallsOf = ({ address, account }: HashClient): number =>
    countOf(address) + (account === undefined ? 0 : countOf(account))

  /** Returns the call that would be refused for one more of `client`; undefined where that one is refused itself. */
  function findEvicted(client: HashClient): Waiting<Call> | undefined {
    const own = queues[client.trust]
    if (waitingIn(own).length < own.reserved) return findHeaviest(queues[otherThan(client.trust)])
    const evicted = findHeaviest(own)
    return evicted && evicted.recentCalls > recentCallsOf(client) ? evicted : undefined
  }

  function evict(evicted: Waiting<Call>): void {
    const { address, trust } = evicted.client
    const { byAddress } = queues[trust]
    const left = byAddress.get(address)?.filter((each) => each !== evicted) ?? []
    if (left.length > 0) byAddress.set(address, left)
    else byAddress.delete(address)
    count(address, -1)
  }

  return {
    /** Returns true where a call of `client` would be added, and not be refused itself. */
    hasRoom: (client: HashClient): boolean => size() < limit || findEvicted(client) !== undefined,

    /** Adds a call. Where no place is free, `refused` is the call that loses its place, or `call` itself. */
    add(call: Call, client: HashClient): { refused?: Call } {
      const isFull = size() >= limit
      const evicted = isFull ? findEvicted(client) : undefined
      if (isFull && !evicted) return { refused: call }
      if (evicted) evict(evicted)
      const { byAddress } = queues[client.trust]
      const earlier = byAddress.get(client.address) ?? []
      byAddress.set(client.address, [...earlier, { call, client, recentCalls: recentCallsOf(client) }])
      count(client.address, 1)
      return evicted ? { refused: evicted.call } : {}
    },

    /** Counts a successful login, which only the owner of the account can cause. */
    countSuccessfulLogin({ account }: HashClient): void {
      if (account !== undefined) count(account, 1)
    },

    /** Returns the number of calls that wait. */
    size,

    /** Removes and returns the call whose turn it is. */
    take(): Call | undefined {
      const trust = queues[next].byAddress.size > 0 ? next : otherThan(next)
      next = otherThan(trust)
      const { byAddress } = queues[trust]
      const [entry] = byAddress
      if (!entry) return undefined
      const [address, [taken, ...others]] = entry
      // Its next turn comes after one of each other address.
      byAddress.delete(address)
      if (others.length > 0) byAddress.set(address, others)
      return taken?.call
    },
  }
}

const otherThan = (trust: ClientTrust): ClientTrust => (trust === 'known' ? 'other' : 'known')

const waitingIn = <Call>({ byAddress }: Queue<Call>): Waiting<Call>[] => [...byAddress.values()].flat()

/** Returns, of the calls whose clients have had the most, the one whose turn comes last. */
const findHeaviest = <Call>({ byAddress }: Queue<Call>): Waiting<Call> | undefined =>
  [...byAddress.values()]
    .flatMap((calls) => calls.map((waiting, turn) => ({ waiting, turn })))
    .toSorted((a, b) => a.waiting.recentCalls - b.waiting.recentCalls || a.turn - b.turn)
    .at(-1)?.waiting
