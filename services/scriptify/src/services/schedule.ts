import { Cron } from 'croner'
import { CliError } from '../cli-error.ts'
import { EXIT } from '../exit-codes.ts'

const NAMES = ['@reboot', '@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly']
// What cron(8) reads; the library also takes L, W, #, ? and names written out.
const TOKEN = '(?:\\d{1,2}|[A-Za-z]{3})'
const RANGE = `(?:\\*|${TOKEN}-${TOKEN})(?:/\\d{1,2})?|${TOKEN}`
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
  const normal = fields.join(' ')
  const cron = parse(normal, refuse)
  // 30 February: cron would accept it and wait for ever.
  if (cron.nextRun() === null) throw refuse('names no day that comes')
  return normal
}

function parse(schedule: string, refuse: (reason: string) => CliError): Cron {
  try {
    return new Cron(schedule, { mode: '5-part', paused: true })
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error)
    throw refuse(`is not one (${message.replace(/^CronPattern: /, '')})`)
  }
}
