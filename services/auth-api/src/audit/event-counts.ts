import { type AuditEvent, isOpenEvent } from '@latchkey/shared/audit/audit-events.ts'

/** Different open events of one address in a window. */
const MAX_OF_ADDRESS = 20
/** Different open events without a user in a window. */
const MAX_ANONYMOUS = 2_000
/** Different other events in a window: these need a password, a token, a code, or the name of a user. */
const MAX_OTHERS = 10_000

interface Counts {
  readonly max: number
  readonly byKey: Map<string, { event: AuditEvent; more: number }>
}

/**
 * Counts equal events of a window: of the same name, user, address and reason. The number of different ones is limited. Beyond
 * the limit of its address an open event keeps its name and address, for which half of the room is reserved, so that a client
 * with many events hides no other client. Beyond the limit of all clients an event keeps its name only.
 */
export function createEventCounts() {
  const anonymous: Counts = { max: MAX_ANONYMOUS, byKey: new Map() }
  const others: Counts = { max: MAX_OTHERS, byKey: new Map() }
  /** Different open events by address. */
  const openByAddress = new Map<string | undefined, number>()
  const countOf = (address: string | undefined): number => openByAddress.get(address) ?? 0

  /** Leaves out what would make an event one of too many different ones. */
  function shorten(event: AuditEvent, isOpen: boolean, { max, byKey }: Counts): AuditEvent {
    const { name, address } = event
    const hasRoom = isOpen ? countOf(address) < MAX_OF_ADDRESS && byKey.size < max / 2 : byKey.size < max
    if (hasRoom || byKey.has(keyOf(event))) return event
    const ofClient = { name, address }
    return isOpen && (byKey.size < max || byKey.has(keyOf(ofClient))) ? ofClient : { name }
  }

  return {
    /** Returns the event to record: the first of its kind in the window; undefined for one that was only counted. */
    count(event: AuditEvent): AuditEvent | undefined {
      const isOpen = isOpenEvent(event.name)
      const counts = isOpen && event.userid === undefined ? anonymous : others
      const kept = shorten(event, isOpen, counts)
      const counted = counts.byKey.get(keyOf(kept))
      if (counted) {
        counted.more++
        return undefined
      }
      counts.byKey.set(keyOf(kept), { event: kept, more: 0 })
      if (isOpen) openByAddress.set(kept.address, countOf(kept.address) + 1)
      return kept
    },

    /** Ends the window; returns what was counted in it and not recorded, each event once with its count. */
    end(): AuditEvent[] {
      const rest = [...anonymous.byKey.values(), ...others.byKey.values()].filter(({ more }) => more > 0)
      anonymous.byKey.clear()
      others.byKey.clear()
      openByAddress.clear()
      // Each of them had another id.
      return rest.map(({ event, more }) => ({ ...event, requestId: undefined, count: more }))
    },
  }
}

const keyOf = ({ name, userid, address, reason }: AuditEvent): string =>
  JSON.stringify([name, userid, address, reason])
