import { describe, expect, it, vi } from 'vitest'
import { createReadiness, rememberingSuccess } from './readiness.ts'

describe('readiness', () => {
  it('begins after the start, lasts while every check passes, and ends with draining', async () => {
    let answer = 'ok'
    let now = 0
    const readiness = createReadiness({ database: async () => answer }, () => now)
    const read = () => {
      now += 1_000
      return readiness.read()
    }
    expect(await read()).toMatchObject({ isReady: false, checks: { service: 'starting', database: 'ok' } })
    readiness.serve()
    expect(await read()).toMatchObject({ isReady: true, checks: { service: 'ok', database: 'ok' } })
    answer = 'migrations pending'
    expect(await read()).toMatchObject({
      isReady: false,
      checks: { service: 'ok', database: 'migrations pending' },
    })
    answer = 'ok'
    readiness.drain()
    readiness.serve()
    expect(await read()).toMatchObject({ isReady: false, checks: { service: 'draining', database: 'ok' } })
  })

  it('reports the reason of a failed check apart from its outcome', async () => {
    const refused = new Error('unavailable', { cause: new Error('getaddrinfo ENOTFOUND db') })
    const readiness = createReadiness({ database: () => Promise.reject(refused) }, Date.now)
    const { checks, reasons } = await readiness.read()
    expect(checks.database).toBe('unreachable')
    expect(reasons).toEqual({ database: 'getaddrinfo ENOTFOUND db' })
  })

  it('names a check that hangs', async () => {
    vi.useFakeTimers()
    try {
      const readiness = createReadiness({ mail: () => new Promise(() => undefined) }, Date.now)
      const reading = readiness.read()
      await vi.advanceTimersByTimeAsync(4_000)
      expect((await reading).checks.mail).toBe('no answer')
    } finally {
      vi.useRealTimers()
    }
  })

  it('runs each check once a second, however many probes arrive', async () => {
    let now = 0
    const check = vi.fn(async () => 'ok')
    const readiness = createReadiness({ database: check }, () => now)
    await Promise.all([readiness.read(), readiness.read()])
    now = 999
    await readiness.read()
    expect(check).toHaveBeenCalledTimes(1)
    now = 1_000
    await readiness.read()
    expect(check).toHaveBeenCalledTimes(2)
  })
})

describe('remembering success', () => {
  it('repeats the check once it is old, and remembers no failure', async () => {
    let now = 0
    const check = vi.fn<() => Promise<string>>().mockResolvedValueOnce('unreachable').mockResolvedValue('ok')
    const remembering = rememberingSuccess(check, 30, () => now)
    expect([await remembering(), await remembering(), await remembering()]).toEqual([
      'unreachable',
      'ok',
      'ok',
    ])
    expect(check).toHaveBeenCalledTimes(2)
    now = 30
    await remembering()
    expect(check).toHaveBeenCalledTimes(3)
  })

  it('never repeats the check after the first success when that stays valid', async () => {
    const check = vi
      .fn<() => Promise<string>>()
      .mockRejectedValueOnce(new Error('away'))
      .mockResolvedValue('ok')
    const once = rememberingSuccess(check, Number.POSITIVE_INFINITY, Date.now)
    await expect(once()).rejects.toThrow('away')
    for (let index = 0; index < 3; index++) expect(await once()).toBe('ok')
    expect(check).toHaveBeenCalledTimes(2)
  })
})
