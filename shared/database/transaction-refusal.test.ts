import { describe, expect, it } from 'vitest'
import { createRefusal } from './transaction-refusal.ts'

const FIRST = new Error('deadlock detected')
const SECOND = new Error('current transaction is aborted')

describe('a transaction', () => {
  it('takes statements until one fails or it ends', () => {
    expect(() => createRefusal().check()).not.toThrow()
  })

  it('refuses each later statement for the reason of the first that failed', () => {
    const refusal = createRefusal()
    expect([refusal.record(FIRST), refusal.record(SECOND)]).toEqual([FIRST, FIRST])
    expect(() => refusal.check()).toThrow(FIRST)
  })

  it('refuses each statement after its end', () => {
    const refusal = createRefusal()
    refusal.end()
    expect(() => refusal.check()).toThrow('The transaction has ended')
  })

  it('that failed keeps its reason after its end', () => {
    const refusal = createRefusal()
    refusal.record(FIRST)
    refusal.end()
    expect(() => refusal.check()).toThrow(FIRST)
  })
})
