import { setTimeout as wait } from 'node:timers/promises'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { type ClientTrust, createFairQueue } from './fair-queue.ts'

/** Adds calls, written as `trust address`, and returns those that are refused, then those that wait in their turn. */
function run(limit: number, calls: readonly string[]) {
  const queue = createFairQueue<string>(limit)
  const refused = calls.flatMap((call, index) => {
    const [trust, address = ''] = call.split(' ')
    const client = { address, trust: trust as ClientTrust }
    const hasRoom = queue.hasRoom(client)
    const { refused } = queue.add(`${address}${index}`, client)
    expect(hasRoom, `room for call ${index}`).toBe(refused !== `${address}${index}`)
    return refused ?? []
  })
  const taken: string[] = []
  for (let call = queue.take(); call !== undefined; call = queue.take()) taken.push(call)
  return { refused, taken }
}

describe('the fair queue', () => {
  it.each([
    {
      what: 'takes the calls of one address in their order',
      calls: ['other a', 'other a', 'other a'],
      taken: ['a0', 'a1', 'a2'],
      refused: [],
    },
    {
      what: 'takes one call of each address in turn',
      calls: ['other a', 'other a', 'other a', 'other b', 'other b'],
      taken: ['a0', 'b3', 'a1', 'b4', 'a2'],
      refused: [],
    },
    {
      what: 'takes one call of each queue in turn',
      calls: ['other a', 'other b', 'other c', 'known d', 'known e'],
      taken: ['d3', 'a0', 'e4', 'b1', 'c2'],
      refused: [],
    },
    {
      what: 'refuses the next call without room',
      calls: ['other a', 'other b', 'other c', 'other d', 'other e', 'other f', 'other g'],
      taken: ['a0', 'b1', 'c2', 'd3', 'e4', 'f5'],
      refused: ['g6'],
    },
    {
      what: 'refuses the newest call of the address with the most for an address with fewer',
      calls: [
        'other a',
        'other a',
        'other a',
        'other a',
        'other b',
        'other b',
        'other c',
        'other c',
        'other c',
      ],
      taken: ['a0', 'b4', 'c6', 'a1', 'b5', 'c7'],
      refused: ['a3', 'a2', 'c8'],
    },
    {
      what: 'refuses the call of no address but the one with the most',
      calls: ['other a', 'other b', 'other b', 'other b', 'other b', 'other c', 'other d'],
      taken: ['a0', 'b1', 'c5', 'd6', 'b2', 'b3'],
      refused: ['b4'],
    },
    {
      what: 'keeps half of the places for known clients',
      calls: ['other a', 'other b', 'other c', 'other d', 'other e', 'known f', 'known g', 'other h'],
      taken: ['f5', 'a0', 'g6', 'b1', 'c2', 'd3'],
      refused: ['e4', 'h7'],
    },
    {
      what: 'keeps half of the places for other clients',
      calls: [...Array(6).fill('known a'), 'other b', 'other c', 'other d', 'other e', 'known f', 'known g'],
      taken: ['a0', 'b6', 'f10', 'c7', 'g11', 'd8'],
      refused: ['a5', 'a4', 'a3', 'e9', 'a2', 'a1'],
    },
  ])('$what', ({ calls, taken, refused }) => {
    expect(run(6, calls)).toEqual({ taken, refused })
  })

  it('prefers addresses that have had fewer calls, for a minute', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1)
    onTestFinished(() => now.mockRestore())
    const queue = createFairQueue<string>(2)
    const add = (call: string) => queue.add(call, { address: call.slice(0, 1), trust: 'other' }).refused
    add('a0')
    queue.take()
    for (const call of ['a1', 'b2']) add(call)
    expect(add('c3'), 'refused for the first call of another address').toBe('a1')
    expect(queue.take()).toBe('b2')
    expect(add('a4'), 'a refused call is not counted').toBeUndefined()
    expect(add('b5'), 'as many calls as those of the other').toBe('b5')
    now.mockReturnValue(60_002)
    await expect.poll(() => queue.hasRoom({ address: 'b', trust: 'other' })).toBe(true)
    expect(add('b6')).toBe('a4')
  })

  it('forgets what an address has had also while it sends more', async () => {
    const now = vi.spyOn(performance, 'now').mockReturnValue(1)
    onTestFinished(() => now.mockRestore())
    const queue = createFairQueue<string>(2)
    const add = (call: string) => queue.add(call, { address: call.slice(0, 1), trust: 'other' }).refused
    for (const second of [0, 20, 40]) {
      now.mockReturnValue(1 + second * 1_000)
      add(`a${second}`)
      queue.take()
      // The cache reads the clock once per millisecond of its timer.
      await wait(5)
    }
    now.mockReturnValue(60_500)
    for (const call of ['b1', 'a1']) add(call)
    expect(add('b2'), 'as many calls as those of the other').toBe('b2')
  })

  it('lets no new address overtake calls that have waited for their turn', () => {
    const queue = createFairQueue<string>(8)
    const add = (call: string) => queue.add(call, { address: call.slice(0, 1), trust: 'other' }).refused
    for (const call of ['a0', 'a1', 'a2']) add(call)
    expect([queue.take(), queue.take()]).toEqual(['a0', 'a1'])
    for (const call of ['b3', 'b4']) add(call)
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['a2', 'b3', 'b4'])
  })

  it('refuses, of calls with as many before them, the one whose turn comes last', () => {
    const queue = createFairQueue<string>(3)
    const add = (call: string) => queue.add(call, { address: call.slice(0, 1), trust: 'other' }).refused
    add('a0')
    queue.take()
    for (const call of ['b1', 'b2', 'a3']) add(call)
    expect(add('c4')).toBe('b2')
    expect([queue.take(), queue.take(), queue.take()]).toEqual(['b1', 'a3', 'c4'])
  })

  it('prefers accounts with fewer successful logins', () => {
    const queue = createFairQueue<string>(2)
    const eve = (host: number) => ({ address: `eve ${host}`, account: 'eve', trust: 'known' }) as const
    queue.countSuccessfulLogin(eve(1))
    for (const host of [2, 3]) queue.add(`eve ${host}`, eve(host))
    expect(queue.add('ada', { address: 'ada', account: 'ada', trust: 'known' }).refused).toBe('eve 3')
    expect(queue.add('eve 4', eve(4)).refused).toBe('eve 4')
    expect([queue.take(), queue.take()]).toEqual(['eve 2', 'ada'])
  })

  it('gives known clients the odd place', () => {
    expect(run(1, ['other a', 'known b', 'other c'])).toEqual({ taken: ['b1'], refused: ['a0', 'c2'] })
  })

  it('without places refuses each call', () => {
    expect(run(0, ['known a', 'other b'])).toEqual({ taken: [], refused: ['a0', 'b1'] })
  })
})
