import type { AuditEvent } from '@latchkey/shared/audit/audit-events.ts'

/** Different events of a window that anybody can cause. Beyond it only the name of an event is kept. */
const MAX_OPEN = 100
/** Different events of a window that need a password, a token or a code. */
const MAX_PROVED = 10_000

interface Counted {
  event: AuditEvent
  /** Equal events since this one was recorded. */
  more: number
}

/** Counts equal events of a window: of the same name, user, address and reason. */
export function createEventCounts() {
  const open = new Map<string, Counted>()
  const proved = new Map<string, Counted>()

  return {
    /** The event to record: the first of its kind in the window; undefined for one that was only counted. */
    count(event: AuditEvent, isOpen: boolean): AuditEvent | undefined {
      const counted = isOpen ? open : proved
      const isFull = counted.size >= (isOpen ? MAX_OPEN : MAX_PROVED)
      const known = counted.get(keyOf(event))
      const kept = known || !isFull ? event : { name: event.name }
      const found = known ?? counted.get(keyOf(kept))
      if (found) {
        found.more++
        return undefined
      }
      counted.set(keyOf(kept), { event: kept, more: 0 })
      return kept
    },

    /** Ends the window; returns what was counted in it and not recorded, each event once with its count. */
    end(): AuditEvent[] {
      const rest = [...open.values(), ...proved.values()].filter(({ more }) => more > 0)
      open.clear()
      proved.clear()
      // Each of them had another id.
      return rest.map(({ event, more }) => ({ ...event, requestId: undefined, count: more }))
    },
  }
}

const keyOf = ({ name, userid, address, reason }: AuditEvent): string =>
  JSON.stringify([name, userid, address, reason])
