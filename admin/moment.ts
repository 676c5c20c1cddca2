const MOMENT =
  /^(?<date>(?<year>\d{4})-\d\d-\d\d)(?:[T ](?<time>\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?)\d*(?<zone>Z|[+-]\d\d(?::?\d\d)?)?)?$/i

const LAST = Date.UTC(10_000, 0)

/**
 * Parses a date, or a time with or without a zone, which is UTC by default, as ISO 8601 and PostgreSQL write it; undefined for any
 * other text, such as 31 February, and for a year that not every database can store.
 */
export function parseMoment(text: string): Date | undefined {
  const { date = '', year, time = '00:00', zone = 'Z' } = MOMENT.exec(text)?.groups ?? {}
  const offset = zone.replace(/^([+-]\d\d):?(\d\d)?$/, (_, hours, minutes = '00') => `${hours}:${minutes}`)
  const moment = new Date(`${date}T${time}${offset}`.toUpperCase())
  // JavaScript takes 31 February for 3 March.
  const isInCalendar = !Number.isNaN(moment.getTime()) && new Date(date).toISOString().startsWith(date)
  return isInCalendar && Number(year) >= 1970 && moment.getTime() < LAST ? moment : undefined
}
