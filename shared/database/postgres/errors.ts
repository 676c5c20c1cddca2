import type { DriverErrors } from '../database.ts'

export const postgresErrors: DriverErrors = {
  // SQLSTATE 08: connection exception. 28: invalid authorization. 3D000: no such database. 25006: read-only, as a standby is.
  // 26000, 42P05: a prepared statement that the statement before it could not prepare, or that a pooler gave to another
  // client. 53: insufficient resources. 57P: operator intervention. 58030: I/O error.
  unavailable: /^(08...|28...|3D000|25006|26000|42P05|53...|57P0[1235]|58030)$/,
  unavailableMessage:
    /Connection terminated|timeout exceeded when trying to connect|Connection ended unexpectedly|Client has encountered a connection error|closed state|Query read timeout|not support SSL/i,
  busy: {
    // Too many connections.
    'server full': /^53300$/,
    // Lock not available.
    locked: /^55P03$/,
    // Query canceled, by its time limit.
    slow: /^57014$/,
  },
  // The last one is what pg reports, without a code, where it gave up waiting for an answer.
  endsConnection: /^(08...|25006|57P0[123]|Query read timeout)$/,
  // Serialization failure, deadlock detected.
  conflict: /^(40001|40P01)$/,
  // String data right truncation, character not in repertoire, untranslatable character.
  refusedValue: /^(22001|22021|22P05)$/,
  violatedIndex(error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== '23505') return undefined
    return 'constraint' in error ? String(error.constraint) : 'unknown'
  },
}
