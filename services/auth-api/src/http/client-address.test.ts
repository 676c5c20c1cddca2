import { describe, expect, it } from 'vitest'
import { addressOf } from './client-address.ts'

describe('what a client counts as', () => {
  const keyOf = (ip: string) => addressOf({ ip })

  it.each([
    { what: 'its IPv4 address', ip: '192.0.2.1', key: '192.0.2.1' },
    { what: 'its IPv4 address without a port', ip: '192.0.2.1:4711', key: '192.0.2.1' },
    { what: 'the IPv4 address that IPv6 contains', ip: '::ffff:192.0.2.1', key: '192.0.2.1' },
    { what: 'its IPv6 network of 64 bits', ip: '2001:DB8:1:2:3:4:5:6', key: '2001:db8:1:2::' },
    { what: 'that network without a port', ip: '[2001:db8:1:2::9]:4711', key: '2001:db8:1:2::' },
    { what: 'unknown, without an address', ip: undefined, key: 'unknown' },
    { what: 'unknown, with a text that a proxy forwards', ip: '192.0.2.1:4711x', key: 'unknown' },
    { what: 'unknown, with a port within an address', ip: '192.0.2:4711.1', key: 'unknown' },
  ])('is $what: $ip', ({ ip, key }) => {
    expect(addressOf(ip === undefined ? {} : { ip })).toBe(key)
  })

  it('differs by network', () => {
    expect(keyOf('2001:db8:1:2::1')).not.toBe(keyOf('2001:db8:1:3::1'))
  })
})
