import type { SqlValue } from '../database.ts'

interface Positional {
  sql: string
  /** For each `?`, the index of its value. */
  order: number[]
}

/** As many texts as Latchkey has statements. */
const known = new Map<string, Positional>()

/** MySQL's placeholders have no numbers: `$2` becomes `?`, and its value is put in the place of that. */
export function toPositional(text: string, values: readonly SqlValue[]): [sql: string, values: SqlValue[]] {
  const { sql, order } = known.get(text) ?? remember(text)
  return [sql, order.map((index) => values[index] ?? null)]
}

function remember(text: string): Positional {
  const order: number[] = []
  const sql = text.replace(/\$(\d+)/g, (_, number) => {
    order.push(Number(number) - 1)
    return '?'
  })
  known.set(text, { sql, order })
  return { sql, order }
}
