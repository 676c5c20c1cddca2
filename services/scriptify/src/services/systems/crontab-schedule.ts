import { Cron } from 'croner'
import { CliError, EXIT, errorMessage } from '../../io/cli-error.ts'

/** The names of the weekdays, which cron reads in any case, at their numbers. */
export const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']
const NAMES = ['@reboot', '@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
// The grammar of crontab(5); the library also takes L, W, #, ? and full names.
const TOKEN = '(?:\\d{1,2}|[A-Za-z]{3})'
const RANGE = `(?:\\*|${TOKEN}-${TOKEN})(?:/\\d{1,2})?|${TOKEN}`
const FIELD = new RegExp(`^(?:${RANGE})(?:,(?:${RANGE}))*$`)

/** Checks a schedule of crontab(5), and joins its fields by single spaces; throws exit code 2 with the reason. */
export function parseSchedule(schedule: string): string {
  if (NAMES.includes(schedule)) return schedule
  const invalidSchedule = (reason: string) =>
    new CliError(
      `--schedule needs five fields or one of ${NAMES.join(', ')}: ${JSON.stringify(schedule)} ${reason}`,
      EXIT.usage,
    )
  if (/[^\t -~]/.test(schedule)) throw invalidSchedule('contains a character that no schedule has')
  const fields = schedule.trim().split(/[ \t]+/)
  if (fields.length !== 5)
    throw invalidSchedule(`has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}`)
  const unreadable = fields.find((field) => !FIELD.test(field))
  if (unreadable !== undefined) throw invalidSchedule(`has a field that cron does not read, ${unreadable}`)
  const backwards = findBackwardsDays(fields[4] ?? '')
  if (backwards !== undefined) throw invalidSchedule(backwards)
  const normal = fields.join(' ')
  const cron = parse(normal, invalidSchedule)
  // cron would accept 30 February and never run the job.
  if (cron.nextRun() === null) throw invalidSchedule('names a day that does not exist')
  return normal
}

/** Returns when cron starts a job next by a schedule that `parseSchedule` has checked; undefined for one of the boot. */
export function nextTimeOf(schedule: string): Date | undefined {
  if (schedule === '@reboot') return undefined
  return new Cron(schedule.replace('@midnight', '@daily'), { paused: true }).nextRun() ?? undefined
}

/** The library reads `sun` at the end of a range as 7; cron reads it as 0, and accepts the range, which then has no day. */
function findBackwardsDays(field: string): string | undefined {
  for (const [range, first = '', last = ''] of field.matchAll(/(\w+)-(\w+)/g)) {
    const [low, high] = [dayOf(first), dayOf(last)]
    if (low > high) {
      const right = high === 0 ? `${low}-7` : `${low}-6,0-${high}`
      return `is wrong: cron reads ${range} as ${low}-${high}, a range without a day; write ${right}`
    }
  }
  return undefined
}

/** The number of a weekday by its name or number. NaN, which compares as false, for a text that the library refuses later. */
export function dayOf(text: string): number {
  const index = WEEKDAYS.findIndex((name) => name.toLowerCase() === text.toLowerCase())
  return index === -1 ? Number(text) : index
}

function parse(schedule: string, invalidSchedule: (reason: string) => CliError): Cron {
  try {
    return new Cron(schedule, { mode: '5-part', paused: true })
  } catch (error) {
    const message = errorMessage(error)
    throw invalidSchedule(`is not a schedule (${message.replace(/^CronPattern: /, '')})`)
  }
}
