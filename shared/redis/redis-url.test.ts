import { describe, expect, it } from 'vitest'
import { parseSettings } from '../settings/parse-settings.ts'
import { parseRedisServers } from './redis-url.ts'

const faultsOf = (url: string): string | undefined => {
  try {
    parseSettings(['QUEUE_URL'], { QUEUE_URL: url })
    return undefined
  } catch (error) {
    return (error as Error).message.split('\n  ')[1]
  }
}

describe('a URL of Sentinels or of a cluster', () => {
  it.each([
    {
      url: 'redis-sentinel://a,b:26380/3#mymaster',
      read: {
        hosts: [
          { host: 'a', port: 26_379 },
          { host: 'b', port: 26_380 },
        ],
        database: 3,
        sentinelMasterId: 'mymaster',
      },
    },
    {
      url: 'rediss-sentinel://robot:p%40ss:w@[fd00::1]:1,[fd00::2]?sentinelMasterId=main&sentinelPassword=other',
      read: {
        hosts: [
          { host: 'fd00::1', port: 1 },
          { host: 'fd00::2', port: 26_379 },
        ],
        tls: { rejectUnauthorized: true },
        username: 'robot',
        password: 'p@ss:w',
        database: 0,
        sentinelMasterId: 'main',
        sentinelPassword: 'other',
      },
    },
    { url: 'redis-sentinel://secret@a#m', read: { username: '', password: 'secret', sentinelPassword: '' } },
    {
      url: 'redis-cluster://:secret@a,b:7000/',
      read: {
        hosts: [
          { host: 'a', port: 6_379 },
          { host: 'b', port: 7_000 },
        ],
        username: '',
        password: 'secret',
        tls: undefined,
      },
    },
  ])('is read in the syntax of Lettuce: $url', ({ url, read }) => {
    expect(faultsOf(url)).toBeUndefined()
    expect(parseRedisServers(url)).toMatchObject(read)
  })

  it.each([
    ['redis-sentinel://a,,b#m', 'must have no empty host'],
    ['redis-sentinel:///0#m', 'must have no empty host'],
    ['redis-cluster://:secret@:6379', 'must have no empty host'],
    ['redis://', 'must have no empty host'],
    [
      'redis-cluster://:secret@a:1,redis-cluster://:secret@b:2',
      'must have one scheme, before the first of its hosts',
    ],
    ['redis-sentinel://redis://a#m', 'must have one scheme, before the first of its hosts'],
    [
      'redis-sentinel://:secret@a:1,b:2/0',
      'must end with # and the name by which the Sentinels know the server',
    ],
    ['redis-sentinel://a/x#m', 'must have only the number of a database between its hosts and the name'],
    ['redis-cluster://a/1', 'must have nothing after its hosts, since a cluster has only database 0'],
    ['redis-cluster://a#mymaster', 'must have nothing after its hosts, since a cluster has only database 0'],
    ['redis://a/x', 'must have only the number of a database after its host'],
    ['redis-cluster://a:x', 'must have hosts such as redis-1:6379, separated by commas'],
    ['redis://a:1,b:2', 'must start with redis-sentinel:// or redis-cluster:// for several hosts'],
  ])('is refused in one line that says what is right: %s', (url, fault) => {
    expect(faultsOf(url)).toMatch(new RegExp(`^QUEUE_URL ${fault}\\. For example: QUEUE_URL=redis`))
    expect(faultsOf(url)).not.toContain('secret')
  })
})
