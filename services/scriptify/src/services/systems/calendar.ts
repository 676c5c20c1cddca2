import { CliError, EXIT } from '../../io/cli-error.ts'
import { dayOf, parseSchedule, WEEKDAYS } from './crontab-schedule.ts'

/** systemd's weeks begin on Monday and cron's on Sunday, so each name is written out. */
const NAMED: Readonly<Record<string, string>> = {
  '@hourly': '*-*-* *:00:00',
  '@daily': '*-*-* 00:00:00',
  '@midnight': '*-*-* 00:00:00',
  '@weekly': 'Sun *-*-* 00:00:00',
  '@monthly': '*-*-01 00:00:00',
  '@yearly': '*-01-01 00:00:00',
  '@annually': '*-01-01 00:00:00',
}
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']
const DAY = '[A-Za-z]{3,9}(?:(?:\\.\\.|-)[A-Za-z]{3,9})?'
/** systemd.time(7), "Calendar Events": weekdays, date, time and zone, or one of the names. */
const EVENT = new RegExp(
  `^(?:(?:${DAY})(?:,${DAY})*,? +)?(?:[\\d*,./~-]+)?(?: *[\\d*,./]+(?::[\\d*,./]+){1,2})?(?: +[A-Za-z_+/-]+)?$`,
)
const EVENT_NAME = /^(minutely|hourly|daily|weekly|monthly|quarterly|semiannually|annually|yearly)$/

/** True where the schedule is one of cron: five fields, or a name like @daily. */
const isCrontab = (schedule: string): boolean =>
  schedule.startsWith('@') || schedule.trim().split(/[ \t]+/).length === 5

/** Checks a schedule of cron or systemd; throws exit code 2. Only systemd can tell what systemd accepts. */
export function parseCalendarSchedule(schedule: string): string {
  if (isCrontab(schedule)) {
    const parsed = parseSchedule(schedule)
    if (parsed !== '@reboot') return parsed
    throw new CliError(
      '--schedule @reboot is not a time for systemd; use --enable --no-daemon without --schedule',
      EXIT.usage,
    )
  }
  const event = schedule.trim()
  if (EVENT_NAME.test(event) || (/\d|\*/.test(event) && EVENT.test(event))) return event
  throw new CliError(
    `--schedule needs five fields of cron, a name like @daily, or a calendar event of systemd like '*-*-* 03:00', not ${JSON.stringify(schedule)}`,
    EXIT.usage,
  )
}

/** The values of OnCalendar for a checked schedule: one, or two where cron's day fields are alternatives. */
export function toCalendarEvents(schedule: string): string[] {
  if (!isCrontab(schedule)) return [schedule]
  const named = NAMED[schedule]
  if (named !== undefined) return [named]
  const [minute = '*', hour = '*', day = '*', month = '*', weekday = '*'] = schedule.split(' ')
  const time = `${componentOf(hour, 0)}:${componentOf(minute, 0)}:00`
  const event = (weekdays: string, days: string) =>
    `${weekdaysOf(weekdays)}*-${componentOf(month, 1)}-${componentOf(days, 1)} ${time}`
  // crontab(5): with both restricted, either is enough; a field that begins with * restricts nothing by itself.
  const areAlternatives = !day.startsWith('*') && !weekday.startsWith('*')
  return areAlternatives ? [event('*', day), event(weekday, '*')] : [event(weekday, day)]
}

/** A field in the words of systemd, which counts a step from the first value. */
function componentOf(field: string, lowest: 0 | 1): string {
  return field
    .split(',')
    .map((part) => {
      const [range = '', step] = part.split('/')
      const values = range.split('-').map(numberOf).join('..')
      if (step === undefined) return values
      return `${values === '*' ? lowest : values}/${Number(step)}`
    })
    .join(',')
}

const numberOf = (value: string): string => {
  const month = MONTHS.indexOf(value.toLowerCase())
  if (month !== -1) return `${month + 1}`
  return value === '*' ? value : `${Number(value)}`
}

/** The weekdays by name, with a space after them; systemd has no steps of weekdays. */
function weekdaysOf(field: string): string {
  if (field === '*') return ''
  const days = new Set(field.split(',').flatMap(daysOf))
  return `${WEEKDAYS.filter((_, day) => days.has(day)).join(',')} `
}

/** The weekdays of a part of a field; 7 is Sunday, as 0 is. */
function daysOf(part: string): number[] {
  const [range = '', step = '1'] = part.split('/')
  const [first = '', last = first] = range === '*' ? ['0', '6'] : range.split('-')
  const [low, high] = [dayOf(first), dayOf(last)]
  const days: number[] = []
  for (let day = low; day <= high; day += Number(step)) days.push(day % 7)
  return days
}
