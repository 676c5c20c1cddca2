import { randomUUID } from 'node:crypto'
import { rootReason } from '@latchkey/shared/errors/root-reason.ts'
import { openMailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import { nameQueue, openBullWorker } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { aMailJob } from '@latchkey/shared/mail/queue/test/a-mail-job.ts'
import {
  REDIS_IMAGES,
  type RedisServers,
  startRedisServers,
  TOPOLOGIES,
} from '@latchkey/test-support/redis-servers.ts'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCounterFactory } from '../../src/limits/counters.ts'
import { createKnownAddresses } from '../../src/limits/known-addresses.ts'
import { openLimitStore } from '../../src/limits/limit-store.ts'

const JOB = aMailJob()
const readInstallation = async () => 'test'
const EACH = REDIS_IMAGES.flatMap((image) => TOPOLOGIES.map((topology) => ({ image, topology })))

describe.each(EACH)('a $topology of $image', ({ image, topology }) => {
  let servers: RedisServers
  beforeAll(async () => {
    servers = await startRedisServers(image, topology)
  })
  afterAll(() => servers?.[Symbol.asyncDispose]())

  it('has the queue, which a worker consumes', async () => {
    const queue = openMailQueue(servers.url, { readInstallation })
    const taken: string[] = []
    const send = async ({ id = '' }) => void taken.push(id)
    const { worker, close } = openBullWorker(
      servers.url,
      nameQueue(servers.url, 'test'),
      send,
      {},
      () => undefined,
    )
    try {
      await queue.add('first', JOB)
      await expect.poll(() => taken).toEqual(['first'])
      expect(await queue.has('first')).toBe(true)
      expect(await queue.memory()).toMatchObject({ used: expect.any(Number), max: 0 })
      const keys = await keysOf(servers)
      expect(
        keys.filter((key) => key.includes('mail')).every((key) => key.startsWith('{latchkey-test}:mail')),
      ).toBe(true)
    } finally {
      await close()
      await queue.close()
      expect(worker.isRunning()).toBe(false)
    }
  })

  it('counts limits and knows clients', async () => {
    const store = openLimitStore(servers.url, readInstallation, { debug: () => undefined })
    if (!store) throw new Error('no store')
    const { redis } = store
    try {
      await expect.poll(() => redis.status).toBe('ready')
      // On a busy machine a command takes longer than production waits. A cluster has the options of each of its nodes.
      const patience = { commandTimeout: 20_000, socketTimeout: 20_000 }
      const nodes = 'nodes' in redis ? redis.nodes() : [redis]
      for (const { options } of nodes) Object.assign(options, patience)
      if ('redisOptions' in redis.options) Object.assign(redis.options.redisOptions ?? {}, patience)
      const warn = (details: object) => expect.fail(JSON.stringify(details))
      const counters = [1, 2].map(() =>
        createCounterFactory(store, { info: () => undefined, warn })('failures', 60),
      )
      // Keys in many slots, and others at each try.
      const keys = Array.from({ length: 50 }, () => randomUUID())
      for (const key of keys)
        for (const [index, counter] of counters.entries())
          expect(await counter.count(key)).toMatchObject({ count: index + 1 })
      const client = { address: '203.0.113.1' }
      const [here, elsewhere] = [1, 2].map(() => createKnownAddresses(store, (account) => account))
      await here?.remember(client, 'ada')
      expect(await elsewhere?.has(client, 'ada')).toBe(true)
    } finally {
      redis.disconnect()
    }
  })

  it('is refused in one line where the URL says that it is something else', async () => {
    const [hosts = ''] = /127[^/?#]*/.exec(servers.url) ?? []
    const password = /:\/\/(:[^@]*@)/.exec(servers.url)?.[1] ?? ''
    const [port = 0] = servers.ports
    const reasonOf = async (url: string) => {
      const queue = openMailQueue(url, { readInstallation, timeoutMs: 2_000 })
      const reason = await queue.ping().then(
        () => 'accepted',
        (error) => rootReason(error),
      )
      await queue.close()
      return reason
    }
    expect(await reasonOf(`redis://${password}127.0.0.1:${port}`)).toMatch(
      topology === 'Cluster' ? /part of a cluster; write redis-cluster:/ : 'accepted',
    )
    if (topology === 'Cluster') return
    expect(await reasonOf(`redis-cluster://${password}127.0.0.1:${port}`)).toMatch(
      /not part of a cluster; write redis:/,
    )
    const sentinelPassword = /sentinelPassword=([^#]*)/.exec(servers.url)?.[1]
    expect(await reasonOf(`redis://:${sentinelPassword}@${hosts.split(',')[0]}`)).toMatch(
      /is a Sentinel; write/,
    )
    const other = servers.url.replace('#mymaster', '#other')
    expect(await reasonOf(other)).toMatch(/know no server of that name; correct/)
  })
})

async function keysOf({ ports, run }: RedisServers): Promise<string[]> {
  const keys = await Promise.all(ports.map((port) => run(port, 'keys', "'*'")))
  return keys.join('\n').split(/\s+/).filter(Boolean)
}
