import { describe, expect, it } from 'vitest'
import { EXIT } from '../../io/cli-error.ts'
import { parseSchedule } from './crontab-schedule.ts'

describe('parseSchedule', () => {
  it.each([
    '* * * * *',
    '*/5 * * * *',
    '1-5/2,7 22 * * *',
    '0 0 29 2 *',
    '0 0 * jan,Mar Mon-fri',
    '0 0 * * 0-7',
    '0 0 * * sun-TUE,Thu-sat',
    '@reboot',
    '@daily',
  ])('takes %s', (schedule) => {
    expect(parseSchedule(schedule)).toBe(schedule)
  })

  it('joins the fields by single spaces', () => {
    expect(parseSchedule(' 0\t 4  * * 1 ')).toBe('0 4 * * 1')
  })

  it.each([
    { schedule: '', says: 'has 1' },
    { schedule: '* * * *', says: 'has 4' },
    { schedule: '* * * * * *', says: 'has 6' },
    { schedule: '60 * * * *', says: 'minute' },
    { schedule: '* 24 * * *', says: 'hour' },
    { schedule: '0 0 0 * *', says: 'day' },
    { schedule: '0 0 * 13 *', says: 'month' },
    { schedule: '0 0 * * 8', says: 'dayOfWeek' },
    { schedule: '5-1 * * * *', says: '5-1' },
    { schedule: '0 0 * * sat-sun', says: 'cron reads sat-sun as 6-0, a range without a day; write 6-7' },
    { schedule: '0 0 * * mon,FRI-Sun/2', says: 'write 5-7' },
    { schedule: '0 0 * * 5-0', says: 'write 5-7' },
    { schedule: '0 0 * * fri-mon', says: 'write 5-6,0-1' },
    { schedule: '*/0 * * * *', says: 'stepping' },
    { schedule: '5/15 * * * *', says: '5/15' },
    { schedule: '0 0 L * *', says: 'cron does not read, L' },
    { schedule: '0 0 ? * *', says: 'cron does not read, ?' },
    { schedule: '0 0 * * 1#2', says: 'cron does not read, 1#2' },
    { schedule: '0 0 * january *', says: 'january' },
    { schedule: '0 0 * xyz *', says: 'xyz' },
    { schedule: '0 0 31 2 *', says: 'a day that does not exist' },
    { schedule: '@Daily', says: 'has 1' },
    { schedule: '@every 5m', says: 'has 2' },
    { schedule: '* * * * *\n* * * * * root id', says: 'character' },
    { schedule: '* * * * *\rroot', says: 'character' },
    { schedule: '* * * * * root id', says: 'has 7' },
    { schedule: '*\u00a0* * * *', says: 'character' },
  ])('refuses $schedule', ({ schedule, says }) => {
    expect(() => parseSchedule(schedule)).toThrow(
      expect.objectContaining({ exitCode: EXIT.usage, message: expect.stringContaining(says) }),
    )
  })
})
