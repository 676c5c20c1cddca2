import type { DriverErrors } from '../database.ts'

/** What pg reports, without a code, where it gave up waiting for an answer. */
const READ_TIMEOUT = 'Query read timeout'

export const postgresErrors: DriverErrors = {
  // SQLSTATE 08: connection exception. 28: invalid authorization. 3D000: no such database. 25006: read-only, as a standby is.
  // 26000: a prepared statement that the statement before it could not prepare. 53: insufficient resources. 55P03: lock not
  // available. 57014: query canceled. 57P: operator intervention. 58030: I/O error.
  unavailable: /^(08...|28...|3D000|25006|26000|53...|55P03|57014|57P0[1235]|58030)$/,
  unavailableMessage: new RegExp(
    `Connection terminated|timeout exceeded when trying to connect|Connection ended unexpectedly|Client has encountered a connection error|closed state|${READ_TIMEOUT}`,
    'i',
  ),
  // Serialization failure, deadlock detected.
  conflict: /^(40001|40P01)$/,
  // String data right truncation, character not in repertoire, untranslatable character.
  refusedValue: /^(22001|22021|22P05)$/,
  violatedIndex(error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== '23505') return undefined
    return 'constraint' in error ? String(error.constraint) : 'unknown'
  },
}

/** Whether pg gave up waiting. In a transaction that is the cause of an `AppError`. */
export function isUnanswered(error: unknown): boolean {
  const { message, cause } = error instanceof Error ? error : new Error()
  return message === READ_TIMEOUT || (cause !== undefined && isUnanswered(cause))
}
