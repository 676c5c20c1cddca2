import { describe, expect, it } from 'vitest'
import { type ClientTrust, createFairQueue } from './fair-queue.ts'

/** Adds calls, written as `trust address`, and returns those that are refused, then those that wait in their turn. */
function run(limit: number, calls: readonly string[]) {
  const queue = createFairQueue<string>(limit)
  const refused = calls.flatMap((call, index) => {
    const [trust, address = ''] = call.split(' ')
    const client = { address, trust: trust as ClientTrust }
    const hasRoom = queue.hasRoom(client)
    const refused = queue.add(`${address}${index}`, client)
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
      what: 'takes one call of each lane in turn',
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
      what: 'refuses a call of another client for one of a known client',
      calls: ['other a', 'other b', 'other c', 'other d', 'other e', 'known f', 'known g', 'other h'],
      taken: ['f5', 'b1', 'g6', 'c2', 'd3', 'e4'],
      refused: ['a0', 'h7'],
    },
    {
      what: 'keeps the calls of known clients when others have none left',
      calls: ['known a', 'known a', 'known a', 'known a', 'known a', 'known a', 'other b'],
      taken: ['a0', 'a1', 'a2', 'a3', 'a4', 'a5'],
      refused: ['b6'],
    },
  ])('$what', ({ calls, taken, refused }) => {
    expect(run(6, calls)).toEqual({ taken, refused })
  })

  it('without places refuses each call', () => {
    expect(run(0, ['known a', 'other b'])).toEqual({ taken: [], refused: ['a0', 'b1'] })
  })
})
