import { describe, expect, it } from 'vitest'
import { postgres } from './postgres/dialect.ts'
import { runTransaction } from './run-transaction.ts'

const ERRORS = postgres.errors
const deadlock = () => Object.assign(new Error('deadlock detected'), { code: '40P01' })

describe('work after the commit', () => {
  it('runs in order, once the transaction has committed', async () => {
    const calls: string[] = []
    const result = await runTransaction(async (afterCommit) => {
      afterCommit(() => calls.push('first'))
      afterCommit(() => calls.push('second'))
      calls.push('commit')
      return 'result'
    }, ERRORS)
    expect(result).toBe('result')
    expect(calls).toEqual(['commit', 'first', 'second'])
  })

  it('does not run after a rollback', async () => {
    const calls: string[] = []
    const failed = runTransaction(async (afterCommit) => {
      afterCommit(() => calls.push('after commit'))
      throw new Error('rolled back')
    }, ERRORS)
    await expect(failed).rejects.toThrow('rolled back')
    expect(calls).toEqual([])
  })

  it('runs once for a transaction that was repeated after a deadlock', async () => {
    const calls: number[] = []
    let attempts = 0
    await runTransaction(async (afterCommit) => {
      const attempt = ++attempts
      afterCommit(() => calls.push(attempt))
      if (attempt < 3) throw deadlock()
    }, ERRORS)
    expect(calls).toEqual([3])
  })
})
