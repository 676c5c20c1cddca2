import { describe, expect, it } from 'vitest'
import { runTransaction } from './run-transaction.ts'

const isDeadlock = (error: unknown) => error instanceof Error && error.message === 'deadlock'

describe('work after the commit', () => {
  it('runs in order, once the transaction has committed', async () => {
    const calls: string[] = []
    const result = await runTransaction(async (afterCommit) => {
      afterCommit(() => calls.push('first'))
      afterCommit(() => calls.push('second'))
      calls.push('commit')
      return 'result'
    }, isDeadlock)
    expect(result).toBe('result')
    expect(calls).toEqual(['commit', 'first', 'second'])
  })

  it('does not run after a rollback', async () => {
    const calls: string[] = []
    const failed = runTransaction(async (afterCommit) => {
      afterCommit(() => calls.push('after commit'))
      throw new Error('rolled back')
    }, isDeadlock)
    await expect(failed).rejects.toThrow('rolled back')
    expect(calls).toEqual([])
  })

  it('runs once for a transaction that was repeated after a deadlock', async () => {
    const calls: number[] = []
    let attempts = 0
    await runTransaction(async (afterCommit) => {
      const attempt = ++attempts
      afterCommit(() => calls.push(attempt))
      if (attempt < 3) throw new Error('deadlock')
    }, isDeadlock)
    expect(calls).toEqual([3])
  })
})
