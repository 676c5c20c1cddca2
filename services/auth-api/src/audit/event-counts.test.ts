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
    expect(counts.count(refused('192.0.2.1'), true)).toEqual(refused('192.0.2.1'))
    for (let more = 0; more < 40; more++) expect(counts.count(refused('192.0.2.1'), true)).toBeUndefined()
    expect(counts.end()).toEqual([{ ...refused('192.0.2.1'), requestId: undefined, count: 40 }])
    expect(counts.end(), 'of the next window').toEqual([])
    expect(counts.count(refused('192.0.2.1'), true)).toBeDefined()
  })

  it.each([
    { differs: 'address', other: refused('192.0.2.2', 'ada') },
    { differs: 'user', other: refused('192.0.2.1', 'grace') },
    { differs: 'reason', other: { ...refused('192.0.2.1', 'ada'), reason: 'deleted_user' } },
    { differs: 'name', other: { ...refused('192.0.2.1', 'ada'), name: 'limit.reached' } as const },
  ])('have the same $differs', ({ other }) => {
    const counts = createEventCounts()
    counts.count(refused('192.0.2.1', 'ada'), true)
    expect(counts.count(other, true)).toEqual(other)
  })
})

describe('a flood of different events', () => {
  it('that anybody can cause becomes one event with their number', () => {
    const counts = createEventCounts()
    const recorded = Array.from({ length: 5_000 }, (_, n) =>
      counts.count(refused(`client ${n}`), true),
    ).filter((event) => event !== undefined)
    expect(recorded).toHaveLength(101)
    expect(recorded.at(-1)).toEqual({ name: 'login.refused' })
    expect(counts.end()).toEqual([{ name: 'login.refused', requestId: undefined, count: 4_899 }])
  })

  it('keeps the name of each', () => {
    const counts = createEventCounts()
    for (let n = 0; n < 200; n++) counts.count(refused(`client ${n}`), true)
    const reached = { name: 'limit.reached', address: '192.0.2.1' } as const
    expect(counts.count(reached, true)).toEqual({ name: 'limit.reached' })
    expect(counts.count(reached, true)).toBeUndefined()
  })

  it('leaves what was known before it counted by itself', () => {
    const counts = createEventCounts()
    for (let n = 0; n < 200; n++) counts.count(refused(`client ${n}`), true)
    counts.count(refused('client 0'), true)
    expect(counts.end()).toContainEqual({ ...refused('client 0'), requestId: undefined, count: 1 })
  })

  it('does not hide what takes a password or a token', () => {
    const counts = createEventCounts()
    for (let n = 0; n < 200; n++) counts.count(refused(`client ${n}`), true)
    const login = { name: 'login.succeeded', userid: 'ada', address: '192.0.2.1' } as const
    expect(counts.count(login, false)).toEqual(login)
  })
})
