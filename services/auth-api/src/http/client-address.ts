import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Some gateways add the port to an address in X-Forwarded-For, so that each connection would count as a client. */
const PORT = /^(?:\[([^\]]+)\]|([\d.]+)):\d+$/
/** A client that has disconnected has no address, and a proxy forwards any text as one. All of these count as one client. */
const UNKNOWN = 'unknown'

/** The address that a client counts as: IPv4, or the /64 of IPv6, the smallest network that a provider gives to a customer. */
export function addressOf({ ip = '' }: { ip?: string }): string {
  const text = ip.replace(PORT, '$1$2')
  const version = isIP(text)
  if (version !== 6) return version === 4 ? text : UNKNOWN
  // An IPv4-mapped address becomes IPv4.
  const address = ipaddr.process(text)
  if (!(address instanceof ipaddr.IPv6)) return address.toString()
  return new ipaddr.IPv6([...address.parts.slice(0, 4), 0, 0, 0, 0]).toString()
}
