import type { AuditEvent } from '@latchkey/shared/audit/audit-events.ts'
import { describe, expect, it } from 'vitest'
import { createEventCounts } from './event-counts.ts'

const refused = (address: string, userid?: string): AuditEvent => ({
  name: 'login.refused',
  userid,
  address,
  requestId: `request of ${address}`,
  reason: 'wrong_password',
})

describe('equal events of a window', () => {
  it('are recorded at the first of them, and counted at its end', () => {
    const counts = createEventCounts()
    expect(counts.count(refused('192.0.2.1'))).toEqual(refused('192.0.2.1'))
    for (let more = 0; more < 40; more++) expect(counts.count(refused('192.0.2.1'))).toBeUndefined()
    expect(counts.end()).toEqual([{ ...refused('192.0.2.1'), requestId: undefined, count: 40 }])
    expect(counts.end(), 'of the next window').toEqual([])
    expect(counts.count(refused('192.0.2.1'))).toBeDefined()
  })

  it.each([
    { differs: 'address', other: refused('192.0.2.2', 'ada') },
    { differs: 'user', other: refused('192.0.2.1', 'grace') },
    { differs: 'reason', other: { ...refused('192.0.2.1', 'ada'), reason: 'deleted_user' } },
    { differs: 'name', other: { ...refused('192.0.2.1', 'ada'), name: 'limit.reached' } as const },
  ])('have the same $differs', ({ other }) => {
    const counts = createEventCounts()
    counts.count(refused('192.0.2.1', 'ada'))
    expect(counts.count(other)).toEqual(other)
  })
})

describe('a flood of different events', () => {
  /** Counts an open event of each of many clients, and returns those to record. */
  const flood = (counts: ReturnType<typeof createEventCounts>, clients: number) =>
    Array.from({ length: clients }, (_, n) => counts.count(refused(`client ${n}`))).filter(
      (event) => event !== undefined,
    )

  it('of one address becomes one event with their number, and leaves those of others alone', () => {
    const counts = createEventCounts()
    const reached = (n: number) =>
      counts.count({ name: 'limit.reached', address: '192.0.2.1', reason: `GET /${n}` })
    const recorded = Array.from({ length: 5_000 }, (_, n) => reached(n)).filter(
      (event) => event !== undefined,
    )
    expect(recorded).toHaveLength(21)
    expect(recorded.at(-1)).toEqual({ name: 'limit.reached', address: '192.0.2.1' })
    expect(counts.count(refused('192.0.2.1', 'ada')), 'another event of it').toEqual({
      name: 'login.refused',
      address: '192.0.2.1',
    })
    expect(counts.count(refused('192.0.2.2', 'ada'))).toEqual(refused('192.0.2.2', 'ada'))
    expect(counts.end()).toEqual([
      { name: 'limit.reached', address: '192.0.2.1', requestId: undefined, count: 4_979 },
    ])
    expect(reached(5_000), 'in the next window').toMatchObject({ reason: 'GET /5000' })
    expect(counts.count(refused('192.0.2.2', 'ada'))).toEqual(refused('192.0.2.2', 'ada'))
  })

  it('of many addresses keeps the address of each, and then only the name', () => {
    const counts = createEventCounts()
    const recorded = flood(counts, 5_000)
    expect(recorded).toHaveLength(2_001)
    expect(recorded[999]).toEqual(refused('client 999'))
    expect(recorded[1_000]).toEqual({ name: 'login.refused', address: 'client 1000' })
    expect(recorded.at(-1)).toEqual({ name: 'login.refused' })
    expect(counts.count({ name: 'limit.reached', address: '192.0.2.1' })).toEqual({ name: 'limit.reached' })
    expect(counts.end()).toEqual([{ name: 'login.refused', requestId: undefined, count: 2_999 }])
  })

  it('leaves what was known before it counted by itself', () => {
    const counts = createEventCounts()
    flood(counts, 5_000)
    for (const client of [0, 1_000]) counts.count(refused(`client ${client}`))
    expect(counts.end()).toEqual(
      expect.arrayContaining([
        { ...refused('client 0'), requestId: undefined, count: 1 },
        { name: 'login.refused', address: 'client 1000', requestId: undefined, count: 1 },
      ]),
    )
  })

  it('hides neither what names a user nor what takes a password or a token', () => {
    const counts = createEventCounts()
    flood(counts, 5_000)
    const login = { name: 'login.succeeded', userid: 'ada', address: '192.0.2.1' } as const
    expect(counts.count(login)).toEqual(login)
    expect(counts.count(refused('192.0.2.1', 'ada'))).toEqual(refused('192.0.2.1', 'ada'))
  })

  it('of logins leaves the budget of their address alone', () => {
    const counts = createEventCounts()
    for (let n = 0; n < 30; n++)
      counts.count({ name: 'login.succeeded', userid: `user ${n}`, address: '192.0.2.1' })
    expect(counts.count(refused('192.0.2.1'))).toEqual(refused('192.0.2.1'))
  })

  it('is limited where it takes a password or a token too', () => {
    const counts = createEventCounts()
    const login = (n: number) =>
      counts.count({ name: 'login.succeeded', userid: `user ${n}`, address: '192.0.2.1' })
    const recorded = Array.from({ length: 10_002 }, (_, n) => login(n)).filter((event) => event !== undefined)
    expect(recorded).toHaveLength(10_001)
    expect(recorded.at(-1)).toEqual({ name: 'login.succeeded' })
  })
})
