import { describe, expect, it } from 'vitest'
import { EXIT } from '../../io/cli-error.ts'
import { parseCalendarSchedule, toCalendarEvents } from './calendar.ts'

const eventsOf = (schedule: string): string[] => toCalendarEvents(parseCalendarSchedule(schedule))

describe('a schedule of a systemd timer', () => {
  it.each([
    ['0 3 * * *', ['*-*-* 3:0:00']],
    ['*/5 * * * *', ['*-*-* *:0/5:00']],
    ['10-40/10,50 8-18 1,15 * *', ['*-*-1,15 8..18:10..40/10,50:00']],
    ['0 4 * jan,Mar-may *', ['*-1,3..5-* 4:0:00']],
    ['0 4 */2 * *', ['*-*-1/2 4:0:00']],
    ['30 6 * * 1-5', ['Mon,Tue,Wed,Thu,Fri *-*-* 6:30:00']],
    ['30 6 * * sat-7,Wed', ['Sun,Wed,Sat *-*-* 6:30:00']],
    ['30 6 * * */2', ['Sun,Tue,Thu,Sat *-*-* 6:30:00']],
    ['0 0 13 * 5', ['*-*-13 0:0:00', 'Fri *-*-* 0:0:00']],
    ['0 0 */2 * 5', ['Fri *-*-1/2 0:0:00']],
    ['@weekly', ['Sun *-*-* 00:00:00']],
    ['@monthly', ['*-*-01 00:00:00']],
    [' *-*-* 03:00 ', ['*-*-* 03:00']],
    ['Mon..Fri 22:30', ['Mon..Fri 22:30']],
    ['Mon,Wed *-*~1 22:30:15 Europe/Lisbon', ['Mon,Wed *-*~1 22:30:15 Europe/Lisbon']],
    ['daily', ['daily']],
  ])('%s is %j', (schedule, events) => {
    expect(eventsOf(schedule)).toEqual(events)
  })

  it.each([
    '',
    'soon',
    '61 * * * *',
    '0 0 30 2 *',
    '@reboot',
    '@often',
    '*-*-* 03:00\nUnit=x',
    '03:00 %h',
    'Mon',
  ])('refuses %j', (schedule) => {
    expect(() => parseCalendarSchedule(schedule)).toThrow(expect.objectContaining({ exitCode: EXIT.usage }))
  })
})
