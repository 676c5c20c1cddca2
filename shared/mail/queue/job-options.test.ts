import { describe, expect, it } from 'vitest'
import { backoffMs, mailJobOptions } from './job-options.ts'

describe('trying a mail again', () => {
  it('doubles the pause up to 30 s, later to ten minutes, of which half is random', () => {
    const longest = [1, 2, 3, 6, 120, 121].map((attempt) => backoffMs(attempt, () => 0))
    expect(longest).toEqual([1_000, 2_000, 4_000, 30_000, 30_000, 600_000])
    expect(backoffMs(1, () => 1)).toBe(500)
  })

  it('goes on until the mail expires, with the shortest random pauses', () => {
    const week = 7 * 24 * 3_600_000
    const { attempts = 1 } = mailJobOptions('id', new Date(week).toISOString(), 0)
    const pauses = Array.from({ length: attempts - 1 }, (_, index) => backoffMs(index + 1, () => 1))
    expect(pauses.reduce((sum, pause) => sum + pause, 0)).toBeGreaterThan(week)
  })

  it('remembers a sent mail for longer than its outbox row can exist', () => {
    const life = 86_400
    expect(mailJobOptions('id', new Date(life * 1000).toISOString(), 0)).toMatchObject({
      jobId: 'id',
      removeOnComplete: { age: 2 * life },
    })
  })
})
