import { BlockList } from 'node:net'
import { z } from 'zod'
import { DATABASE_PROTOCOLS } from '../database/dialects.ts'
import type { Fault } from './fault.ts'
import { hostsOf } from './setting.ts'

/** Returns what is wrong with an issuer. Any text without spaces is one; what looks like a web address has to be one. */
export function findIssuerFault(text: string): Fault | undefined {
  if (/[\s\p{Cc}]/u.test(text)) return { message: 'must not contain white space or control characters' }
  if (text.includes('://') && !isHttpUrl(text))
    return { message: 'must be a URL that starts with https:// or http://' }
  return undefined
}

/** Returns what is wrong with the host of a database; nothing for a URL of something else. */
export function findDatabaseFault(text: string): Fault | undefined {
  if (!DATABASE_PROTOCOLS.some((name) => text.startsWith(`${name}:`))) return undefined
  const [address = '', query = ''] = text.split('?', 2)
  if (address.split('://').length > 2) return { message: 'must have one scheme' }
  const hosts = hostsOf(address)
  if (hosts.includes(',')) return { message: 'must name one host, which leads to the primary' }
  // A socket is an option of the query.
  return /^(:\d*)?$/.test(hosts) && !/(^|&)(host|socketPath)=/.test(query)
    ? { message: 'must name a host' }
    : undefined
}

/** True for a URL that a browser can call. */
export const isHttpUrl = (text: string): boolean =>
  ['http:', 'https:'].includes(URL.parse(text)?.protocol ?? '')

/** Returns what is wrong with the page of the links of mails, which get a fragment of their own. */
export function findLinkFault(text: string): Fault | undefined {
  return text.includes('#') ? { message: 'must have no #: each link adds its own' } : undefined
}

/** Returns what is wrong with a list of origins (RFC 6454). A browser sends exactly this form, and it is compared as text. */
export function findCorsFault(items: readonly string[]): Fault | undefined {
  const origins = items.map(originOf)
  if (origins.every((origin, index) => origin === items[index])) return undefined
  const message =
    'must be origins, separated by commas: scheme, host and optional port, without a path, a slash at the end or a *'
  return origins.includes(undefined)
    ? { message }
    : { message, remedy: `Set CORS_ORIGINS=${origins.join(',')}` }
}

function originOf(text: string): string | undefined {
  const url = URL.parse(text)
  // A browser sends no *.
  if (!url?.host || text.includes('*')) return undefined
  // In `url.origin`, schemes that are not of the web, such as capacitor://localhost, have the origin `null`.
  return `${url.protocol}//${url.host}`
}

/** True for a domain to which passkeys can belong: no address of a host, and no public top-level domain. */
export const isPasskeyDomain = (text: string): boolean =>
  text === 'localhost' || /^(?!\d+(\.\d+)*$)([a-z\d-]+\.)+[a-z\d-]+$/.test(text)

/** True for a page on which browsers offer passkeys (WebAuthn §13.4.9): in a secure context, by a domain. */
export const isPasskeyPage = ({ protocol, hostname }: URL): boolean =>
  isPasskeyDomain(hostname) && (protocol === 'https:' || (protocol === 'http:' && hostname === 'localhost'))

/** Returns what is wrong with a list of origins that use passkeys. */
export function findPasskeyOriginsFault(items: readonly string[]): Fault | undefined {
  const isRight = (item: string) => {
    const url = URL.parse(item)
    return url !== null && url.origin === item && isPasskeyPage(url)
  }
  return items.every(isRight)
    ? undefined
    : {
        message:
          'must be origins as a browser writes them, separated by commas: https://, a domain and an optional port; http:// only for localhost',
      }
}

/** Returns what is wrong with Fastify's list of trusted proxies. Wide networks would, together, trust every client. */
export function findProxyFault(items: readonly string[]): Fault | undefined {
  return items.every((item) => TrustedProxy.safeParse(item).success && !isTooWide(item))
    ? undefined
    : { message: 'must be addresses or networks no wider than /8, separated by commas' }
}

/** The widest network that is private: 10.0.0.0/8, fd00::/8. */
const SHORTEST_PREFIX = 8
/** IPv4-mapped IPv6 addresses (RFC 4291 §2.5.5.2), which match IPv4 clients. */
const MAPPED = { first: '::ffff:0:0', prefix: 96 }

function isTooWide(item: string): boolean {
  const [address = '', prefix] = item.split('/')
  if (prefix === undefined) return false
  const shortest = address.includes(':') && overlapsMapped(address, Number(prefix)) ? MAPPED.prefix : 0
  return Number(prefix) < shortest + SHORTEST_PREFIX
}

function overlapsMapped(address: string, prefix: number): boolean {
  const [network, mapped] = [new BlockList(), new BlockList()]
  network.addSubnet(address, prefix, 'ipv6')
  mapped.addSubnet(MAPPED.first, MAPPED.prefix, 'ipv6')
  return network.check(MAPPED.first, 'ipv6') || mapped.check(address, 'ipv6')
}

const TrustedProxy = z.union([
  z.ipv4(),
  z.ipv6(),
  z.cidrv4(),
  z.cidrv6(),
  z.enum(['loopback', 'linklocal', 'uniquelocal']),
])

const ADDRESS = String.raw`[^\s@<>"(),;\\]+@([^\s@<>"(),;\\]+)`
/** RFC 5322: an address, or one in angle brackets after a display name, which may be quoted. */
const MAILBOX = new RegExp(
  `^\\s*(?:${ADDRESS}|(?:"(?:[^"\\\\]|\\\\.)*"|[^<>"(),;@\\\\]*)\\s*<${ADDRESS}>)\\s*$`,
)

/** The domain of the one address that `text` holds, with or without a display name. */
export function findSenderDomain(text: string): string | undefined {
  const [, bare, bracketed] = MAILBOX.exec(text) ?? []
  return /\p{Cc}/u.test(text) ? undefined : (bare ?? bracketed)
}

/** Returns what is wrong with the sender of the mails. */
export const findSenderFault = (text: string): Fault | undefined =>
  findSenderDomain(text) === undefined ? { message: 'must be one address' } : undefined
