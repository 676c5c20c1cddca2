import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { hasDocker } from '@latchkey/test-support/servers/shared-server.ts'
import type { WorkerProcess } from '@latchkey/test-support/worker-process.ts'
import { GenericContainer, type StartedTestContainer, Wait } from 'testcontainers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { anAddress, type MailSystem, openMailSystem } from './support/mail-system.ts'
import { createOwnServers } from './support/own-servers.ts'

const PAGE = join(import.meta.dirname, '../../../docs/how-to/restrict-redis-rights.md')
const FULL_DISK = '/full'

describe.skipIf(!hasDocker())('a Redis that can be reached', () => {
  let redis: StartedTestContainer
  let servers: Awaited<ReturnType<typeof createOwnServers>>
  beforeAll(async () => {
    redis = await new GenericContainer('redis:8')
      .withExposedPorts(6379)
      .withTmpFs({ [FULL_DISK]: 'rw,size=4m,mode=777' })
      .withCommand(['redis-server', '--dir', FULL_DISK, '--appendonly', 'yes'])
      .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
      .start()
    servers = await createOwnServers()
  })
  afterAll(async () => {
    await servers?.[Symbol.asyncDispose]()
    await redis?.stop()
  })

  const run = async (...command: string[]): Promise<string> => {
    const { output } = await redis.exec(command)
    return output.trim()
  }
  const urlOf = (login = '') => `redis://${login}${redis.getHost()}:${redis.getMappedPort(6379)}`
  const readiness = async (worker: WorkerProcess) => {
    const response = await worker.get('/health/ready')
    return {
      status: response.status,
      ...((await response.json()) as { checks: Record<string, string> }).checks,
    }
  }
  const deliver = async (system: MailSystem) => {
    const address = anAddress()
    await system.producer.request(address)
    await system.expectOneEach([address])
  }

  it.each([
    {
      what: 'its disk is full',
      fill: ['sh', '-c', `cat /dev/zero > ${FULL_DISK}/rest; redis-cli set a b`],
      heal: ['sh', '-c', `rm ${FULL_DISK}/rest`],
      says: /queue at [^"]*\(QUEUE_URL\): refuses mail \(Redis cannot write to its disk \(MISCONF [^"]*No space left/,
    },
    {
      what: 'its memory is full',
      fill: ['redis-cli', 'config', 'set', 'maxmemory', '1'],
      heal: ['redis-cli', 'config', 'set', 'maxmemory', '0'],
      says: /queue at [^"]*\(QUEUE_URL\): refuses mail \(the memory of Redis is full\)/,
    },
  ])('takes no mail while $what, and the worker says so', async ({ fill, heal, says }) => {
    await using system = await openMailSystem({ ...servers, queueUrl: urlOf() })
    await using worker = await system.startWorker()
    await worker.ready()
    await run(...fill)
    await expect
      .poll(() => readiness(worker))
      .toMatchObject({ status: 503, queue: 'refuses mail', database: 'ok' })
    await expect.poll(() => worker.log()).toMatch(says)
    const address = anAddress()
    await system.producer.request(address)
    await run(...heal)
    await expect.poll(() => readiness(worker)).toMatchObject({ status: 200, queue: 'ok' })
    await system.expectOneEach([address])
    expect(worker.log()).not.toContain('of the database is full')
  })

  it('evicts keys: the worker works, is degraded, and logs JSON only', async () => {
    await run('redis-cli', 'config', 'set', 'maxmemory', '100mb')
    await run('redis-cli', 'config', 'set', 'maxmemory-policy', 'allkeys-lru')
    await using system = await openMailSystem({ ...servers, queueUrl: urlOf() })
    await using worker = await system.startWorker({ LOG_LEVEL: 'debug' })
    await worker.ready()
    await deliver(system)
    expect(await readiness(worker)).toMatchObject({ status: 200, service: 'degraded', queue: 'evicts keys' })
    await expect
      .poll(() => worker.log())
      .toMatch(/queue at [^"]*: evicts keys \(maxmemory-policy is allkeys-lru/)
    expect(await (await worker.get('/metrics')).text()).toContain(
      'latchkey_dependency_up{dependency="queue"} 0',
    )
    for (const line of worker.log().trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow()
    await run('redis-cli', 'config', 'set', 'maxmemory-policy', 'noeviction')
    await run('redis-cli', 'config', 'set', 'maxmemory', '0')
    await expect.poll(() => readiness(worker)).toMatchObject({ service: 'ok', queue: 'ok' })
  })

  it('gives a login the rights of the page: it is enough', async () => {
    const [, command = ''] = /^redis-cli (acl setuser .*)$/m.exec(await readFile(PAGE, 'utf8')) ?? []
    expect(await run('redis-cli', ...command.replaceAll("'", '').split(' '))).toBe('OK')
    await using system = await openMailSystem({ ...servers, queueUrl: urlOf('latchkey:secret@') })
    await using worker = await system.startWorker({ LOG_LEVEL: 'debug' })
    await worker.ready()
    await deliver(system)
    expect(await readiness(worker)).toMatchObject({ service: 'ok', queue: 'ok' })
    expect(await (await worker.get('/metrics')).text()).toMatch(
      /latchkey_queue_memory_bytes\{state="used"\} \d/,
    )
    expect(worker.log()).not.toContain('NOPERM')
    expect(await run('redis-cli', 'acl', 'log')).toBe('')
  })

  it('gives a login too few rights: the worker names the right, the login and the page', async () => {
    await run('redis-cli', 'acl', 'setuser', 'less', 'on', '>secret', '~*', '+@all', '-@dangerous')
    await using system = await openMailSystem({ ...servers, queueUrl: urlOf('latchkey:secret@') })
    await using worker = await system.startWorker({ QUEUE_URL: urlOf('less:secret@') })
    await expect
      .poll(() => worker.log())
      .toMatch(
        /queue at [^"]*: refuses mail \(the login of Redis lacks a right; see docs\/how-to\/restrict-redis-rights\.md \(NOPERM User less [^"]*info/,
      )
    for (const line of worker.log().trim().split('\n')) expect(() => JSON.parse(line), line).not.toThrow()
  })
})
