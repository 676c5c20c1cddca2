import type { Transaction } from '../database.ts'
import { postgres } from '../postgres/dialect.ts'

/** A transaction that finds and changes nothing, but for what is given. */
export const aTransaction = (given: Partial<Transaction> = {}): Transaction => ({
  dialect: postgres,
  query: async () => [],
  execute: async () => 0,
  toUuidValue: (uuid) => uuid,
  fromUuidValue: String,
  afterCommit: () => undefined,
  ...given,
})
