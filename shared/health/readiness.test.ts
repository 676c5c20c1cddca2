import { Registry } from 'prom-client'
import { describe, expect, it, vi } from 'vitest'
import { createDependencyFailures } from './dependency-failures.ts'
import { registerDependencyGauge } from './dependency-gauge.ts'
import { createReadiness, rememberingSuccess } from './readiness.ts'

describe('readiness', () => {
  it('begins after the start, lasts while every check passes, and ends with draining', async () => {
    let answer = 'ok'
    let now = 0
    const readiness = createReadiness({ database: async () => answer }, { localNow: () => now })
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
    const readiness = createReadiness({ database: () => Promise.reject(refused) }, { localNow: Date.now })
    const { checks, reasons } = await readiness.read()
    expect(checks.database).toBe('unreachable')
    expect(reasons).toEqual({ database: 'getaddrinfo ENOTFOUND db' })
  })

  it('is degraded, and stays ready, while a dependency serves with a fault', async () => {
    let now = 0
    const failures = createDependencyFailures(() => now)
    const evicting = { outcome: 'evicts keys', reason: 'maxmemory-policy is allkeys-lru', isServing: true }
    let found: typeof evicting | 'ok' = evicting
    const readiness = createReadiness({ queue: async () => found }, { failures, localNow: () => now })
    readiness.serve()
    expect(await readiness.read()).toMatchObject({
      isReady: true,
      isDegraded: true,
      checks: { queue: 'evicts keys' },
      reasons: { queue: 'maxmemory-policy is allkeys-lru' },
    })
    // It was not away: what failed then still says something.
    failures.report('queue', new Error('OOM command not allowed'))
    now = 1_000
    found = 'ok'
    expect(await readiness.read()).toMatchObject({ isReady: true, checks: { queue: 'failing' } })
  })

  it('forgets a failure once the dependency has done its work again, and keeps the count', async () => {
    let now = 0
    const failures = createDependencyFailures(() => now)
    const options = {
      optional: { mail: async () => 'ok' },
      failures,
      failureHoldsMs: 600_000,
      localNow: () => now,
    }
    const readiness = createReadiness({}, options)
    readiness.serve()
    failures.report('mail', new Error('SMTP MAIL FROM: 530'))
    now = 590_000
    expect(await readiness.read()).toMatchObject({ isReady: true, checks: { mail: 'failing' } })
    failures.recover('mail')
    now = 595_000
    expect(await readiness.read()).toMatchObject({ checks: { mail: 'ok' }, failures: { mail: 1 } })
  })

  it('names a check that hangs', async () => {
    vi.useFakeTimers()
    try {
      const readiness = createReadiness({ mail: () => new Promise(() => undefined) }, { localNow: Date.now })
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
    const readiness = createReadiness({ database: check }, { localNow: () => now })
    await Promise.all([readiness.read(), readiness.read()])
    now = 999
    await readiness.read()
    expect(check).toHaveBeenCalledTimes(1)
    now = 1_000
    await readiness.read()
    expect(check).toHaveBeenCalledTimes(2)
  })
})

describe('a dependency that can be done without', () => {
  it('degrades the process while it is unavailable, from the start on', async () => {
    let now = 0
    let isUp = false
    const queue = async () => (isUp ? 'ok' : Promise.reject(new Error('connect ECONNREFUSED')))
    const readiness = createReadiness(
      { database: async () => 'ok' },
      { optional: { queue }, localNow: () => now },
    )
    readiness.serve()
    expect(await readiness.read()).toMatchObject({
      isReady: true,
      isDegraded: true,
      checks: { service: 'degraded', database: 'ok', queue: 'unreachable' },
      reasons: { queue: 'connect ECONNREFUSED' },
    })
    now = 1_000
    isUp = true
    expect(await readiness.read()).toMatchObject({
      isReady: true,
      isDegraded: false,
      checks: { service: 'ok', database: 'ok', queue: 'ok' },
    })
  })

  it('delays no probe when it hangs', async () => {
    vi.useFakeTimers()
    try {
      const readiness = createReadiness(
        {},
        { optional: { queue: () => new Promise(() => undefined) }, localNow: Date.now },
      )
      readiness.serve()
      const reading = readiness.read()
      await vi.advanceTimersByTimeAsync(1_000)
      expect(await reading).toMatchObject({ isReady: true, checks: { queue: 'no answer' } })
    } finally {
      vi.useRealTimers()
    }
  })

  it('has the reason for which the check before it failed', async () => {
    vi.useFakeTimers()
    try {
      const refusals = Array.from({ length: 4 }, () => Promise.withResolvers<string>())
      let checks = 0
      const queue = () => refusals[checks++]?.promise ?? Promise.resolve('ok')
      const readiness = createReadiness({}, { optional: { queue }, localNow: Date.now })
      const read = async () => {
        const reading = readiness.read()
        await vi.advanceTimersByTimeAsync(1_000)
        const { checks, reasons } = await reading
        return [checks.queue, reasons.queue]
      }
      expect(await read()).toEqual(['no answer', undefined])
      refusals[0]?.reject(new Error('not a cluster'))
      await vi.advanceTimersByTimeAsync(0)
      expect(await read()).toEqual(['unreachable', 'not a cluster'])
      const reading = read()
      refusals[2]?.reject(new Error('not a cluster either'))
      expect(await reading).toEqual(['unreachable', 'not a cluster either'])
      expect(await read()).toEqual(['unreachable', 'not a cluster either'])
      expect(await read()).toEqual(['ok', undefined])
    } finally {
      vi.useRealTimers()
    }
  })
})

describe('a dependency that passes its check while requests fail', () => {
  it('degrades the process until no request has failed for ten seconds', async () => {
    let now = 0
    const failures = createDependencyFailures(() => now)
    const readiness = createReadiness({ database: async () => 'ok' }, { failures, localNow: () => now })
    readiness.serve()
    for (let request = 0; request < 3; request++)
      failures.report('database', new Error('unavailable', { cause: new Error('No space left on device') }))
    expect(await readiness.read()).toEqual({
      isReady: true,
      isDegraded: true,
      checks: { service: 'degraded', database: 'failing' },
      reasons: { database: 'the disk of the database is full' },
      failures: { database: 3 },
    })
    now = 10_000
    expect(await readiness.read()).toMatchObject({ isDegraded: false, checks: { database: 'ok' } })
  })

  it('is not degraded by the requests that failed before it was back', async () => {
    let now = 0
    let answer = 'unreachable'
    const failures = createDependencyFailures(() => now)
    const readiness = createReadiness({ database: async () => answer }, { failures, localNow: () => now })
    readiness.serve()
    await readiness.read()
    failures.report('database', new Error('connect ECONNREFUSED'))
    now = 1_000
    answer = 'ok'
    expect(await readiness.read()).toMatchObject({ isDegraded: false, failures: { database: 1 } })
    now = 2_000
    failures.report('database', new Error('No space left on device'))
    expect(await readiness.read()).toMatchObject({ isDegraded: true, failures: { database: 2 } })
  })
})

describe('the gauge of the dependencies', () => {
  it('is 1 for each that is up', async () => {
    const registry = new Registry()
    const checks = { database: async () => 'ok', queue: async () => 'no answer' }
    registerDependencyGauge(registry, createReadiness(checks, { localNow: Date.now }))
    const text = await registry.metrics()
    expect(text).toContain('latchkey_dependency_up{dependency="database"} 1\n')
    expect(text).toContain('latchkey_dependency_up{dependency="queue"} 0\n')
    expect(text).not.toContain('service')
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

  it('keeps no result, and no failure, from before the clock was set back', async () => {
    let now = 60_000
    const check = vi.fn(async () => 'ok')
    const failures = createDependencyFailures(() => now)
    const queue = rememberingSuccess(check, 30_000, () => now)
    const readiness = createReadiness({ queue }, { failures, localNow: () => now })
    readiness.serve()
    failures.report('queue', new Error('unavailable'))
    expect(await readiness.read()).toMatchObject({ isDegraded: true })
    now = 0
    expect(await readiness.read()).toMatchObject({ isDegraded: false })
    expect(check).toHaveBeenCalledTimes(2)
  })
})
