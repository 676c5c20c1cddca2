import { Cron } from 'croner'
import { CliError } from '../../cli-error.ts'
import { EXIT } from '../../exit-codes.ts'

const NAMES = ['@reboot', '@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
// What cron(8) reads; the library also takes L, W, #, ? and names written out.
const TOKEN = '(?:\\d{1,2}|[A-Za-z]{3})'
const RANGE = `(?:\\*|${TOKEN}-${TOKEN})(?:/\\d{1,2})?|${TOKEN}`
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const FIELD = new RegExp(`^(?:${RANGE})(?:,(?:${RANGE}))*$`)

/** Checks a schedule of crontab(5), joins its fields by single spaces; throws exit code 2 naming what is wrong. */
export function parseSchedule(schedule: string): string {
  if (NAMES.includes(schedule)) return schedule
  const refuse = (reason: string) =>
    new CliError(
      `--schedule wants five fields or one of ${NAMES.join(', ')}: ${JSON.stringify(schedule)} ${reason}`,
      EXIT.usage,
    )
  if (/[^\t -~]/.test(schedule)) throw refuse('holds a character that no schedule has')
  const fields = schedule.trim().split(/[ \t]+/)
  if (fields.length !== 5) throw refuse(`has ${fields.length}`)
  const unreadable = fields.find((field) => !FIELD.test(field))
  if (unreadable !== undefined) throw refuse(`has a field that cron does not read, ${unreadable}`)
  const backwards = findBackwardsDays(fields[4] ?? '')
  if (backwards !== undefined) throw refuse(backwards)
  const normal = fields.join(' ')
  const cron = parse(normal, refuse)
  // 30 February: cron would accept it and wait for ever.
  if (cron.nextRun() === null) throw refuse('names no day that comes')
  return normal
}

/** To the library `sun` at the end of a range is 7; to cron it is 0, and it takes a range that then holds no day. */
function findBackwardsDays(field: string): string | undefined {
  for (const [range, first = '', last = ''] of field.matchAll(/(\w+)-(\w+)/g)) {
    const [low, high] = [dayOf(first), dayOf(last)]
    if (low > high) {
      const right = high === 0 ? `${low}-7` : `${low}-6,0-${high}`
      return `is wrong, for cron reads ${range} as ${low}-${high}, a range without a day: write ${right}`
    }
  }
  return undefined
}

/** NaN, which is above nothing, for what the library then refuses. */
function dayOf(text: string): number {
  const index = WEEKDAYS.indexOf(text.toLowerCase())
  return index === -1 ? Number(text) : index
}

function parse(schedule: string, refuse: (reason: string) => CliError): Cron {
  try {
    return new Cron(schedule, { mode: '5-part', paused: true })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw refuse(`is not one (${message.replace(/^CronPattern: /, '')})`)
  }
}
