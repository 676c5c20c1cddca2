import { LRUCache } from 'lru-cache'

/** `known`: a client that has logged in to this account from this address before, or that has shown a token or a code of it. */
export type ClientTrust = 'known' | 'other'

/** The client for whom a password is hashed. */
export interface HashClient {
  address: string
  /** The key of the account, whose successful logins count. */
  account?: string
  trust: ClientTrust
  /** Whether nobody waits for the answer any more. Default: somebody does. */
  hasLeft?: () => boolean
}

interface Waiting<Call> {
  call: Call
  client: HashClient
  /** Each address has one call in each turn of its lane. */
  turn: number
  /** The recent calls of its address and successful logins of its account. The call with the most loses its place first. */
  usage: number
}

interface Lane<Call> {
  /** The waiting calls, in the order in which they are taken. */
  waiting: Waiting<Call>[]
  /** The turn of the call that was taken last. */
  turn: number
  /** Places that the other lane cannot take. */
  places: number
}

/** Recent calls are forgotten a minute after the first of them, however many follow. */
const FORGOTTEN_AFTER_MS = 60_000
/** Addresses and accounts that are remembered. */
const MAX_REMEMBERED = 10_000

/**
 * Creates a queue of at most `limit` calls.
 *
 * - Known clients have one lane, and all others another one. The lanes take turns, and within a lane the addresses do.
 * - Each lane has half of the places, and uses those that the other one leaves free. When the queue is full, the lane with more
 *   than its half loses a call to the other one.
 * - Within a lane, a call then takes the place of one whose address has had more calls, and whose account more successful
 *   logins, together over a minute.
 */
export function createFairQueue<Call>(limit: number) {
  const lanes: Record<ClientTrust, Lane<Call>> = {
    known: { waiting: [], turn: 0, places: Math.ceil(limit / 2) },
    other: { waiting: [], turn: 0, places: Math.floor(limit / 2) },
  }
  const remembered = new LRUCache<string, number>({
    max: MAX_REMEMBERED,
    ttl: FORGOTTEN_AFTER_MS,
    noUpdateTTL: true,
  })
  let next: ClientTrust = 'known'

  const size = () => lanes.known.waiting.length + lanes.other.waiting.length
  const countOf = (key: string): number => remembered.get(key) ?? 0
  const count = (key: string, more: number) => void remembered.set(key, Math.max(0, countOf(key) + more))
  const usageOf = ({ address, account }: HashClient): number =>
    countOf(address) + (account === undefined ? 0 : countOf(account))

  /** The call that would be refused for one more of `client`; undefined where that one is. */
  function findEvicted(client: HashClient): Waiting<Call> | undefined {
    const { waiting, places } = lanes[client.trust]
    if (waiting.length < places) return findHeaviest(lanes[otherThan(client.trust)])
    const evicted = findHeaviest(lanes[client.trust])
    return evicted && evicted.usage > usageOf(client) ? evicted : undefined
  }

  function remove(evicted: Waiting<Call>): void {
    const { waiting } = lanes[evicted.client.trust]
    waiting.splice(waiting.indexOf(evicted), 1)
    count(evicted.client.address, -1)
  }

  return {
    /** Whether a call of `client` would be added, and not be refused itself. */
    hasRoom: (client: HashClient): boolean => size() < limit || findEvicted(client) !== undefined,

    /** Adds a call; returns the call that has to be refused for it, which may be `call` itself. */
    add(call: Call, client: HashClient): Call | undefined {
      const isFull = size() >= limit
      const evicted = isFull ? findEvicted(client) : undefined
      if (isFull && !evicted) return call
      if (evicted) remove(evicted)
      const { waiting, turn: current } = lanes[client.trust]
      const turn = 1 + (waiting.findLast((each) => each.client.address === client.address)?.turn ?? current)
      const before = waiting.findLastIndex((each) => each.turn <= turn)
      waiting.splice(before + 1, 0, { call, client, turn, usage: usageOf(client) })
      count(client.address, 1)
      return evicted?.call
    },

    /** Counts a successful login, which only the owner of the account can cause. */
    countSuccessfulLogin({ account }: HashClient): void {
      if (account !== undefined) count(account, 1)
    },

    /** Calls that wait. */
    size,

    /** Removes the call whose turn it is. */
    take(): Call | undefined {
      const trust = lanes[next].waiting.length > 0 ? next : otherThan(next)
      next = otherThan(trust)
      const lane = lanes[trust]
      const taken = lane.waiting.shift()
      if (taken) lane.turn = taken.turn
      return taken?.call
    },
  }
}

const otherThan = (trust: ClientTrust): ClientTrust => (trust === 'known' ? 'other' : 'known')

/** The last of the calls whose clients have had the most. */
const findHeaviest = <Call>({ waiting }: Lane<Call>): Waiting<Call> | undefined =>
  waiting.toSorted((a, b) => a.usage - b.usage).at(-1)
