import { types } from 'node:util'
import { deserialize, serialize } from 'node:v8'

const MAX_BYTES = 4 << 20
const MAX_NODES = 10_000
const PLAIN = new Set<unknown>([
  null,
  ...[Object, Array, Date, RegExp, Map, Set, Buffer, Uint8Array].map((plain) => plain.prototype),
])

/** Serialises the variables that a new process can have exactly as they were; leaves out the others. */
export function takeSnapshot(variables: Map<string, unknown>): string {
  const kept: Record<string, string> = {}
  let size = 0
  for (const [name, value] of variables) {
    if (value === undefined || !isPlain(value)) continue
    const text = tryToSerialise(value)
    if (text === undefined || size + text.length > MAX_BYTES) continue
    size += text.length
    kept[name] = text
  }
  return JSON.stringify(kept)
}

/** Reads a snapshot. */
export function readSnapshot(snapshot: string): [name: string, value: unknown][] {
  const kept = JSON.parse(snapshot) as Record<string, string>
  return Object.entries(kept).map(([name, text]) => [name, deserialize(Buffer.from(text, 'base64'))])
}

function tryToSerialise(value: unknown): string | undefined {
  try {
    return serialize(value).toString('base64')
  } catch {
    return undefined
  }
}

/** serialize() silently turns an instance of a class into a plain object, and runs getters. */
function isPlain(root: unknown): boolean {
  const open: unknown[] = [root]
  const seen = new Set<unknown>()
  while (open.length > 0) {
    const value = open.pop()
    if (typeof value === 'function' || typeof value === 'symbol') return false
    if (typeof value === 'string' && value.length > MAX_BYTES) return false
    if (typeof value !== 'object' || value === null || seen.has(value)) continue
    if (types.isProxy(value)) return false
    if (seen.add(value).size > MAX_NODES || !PLAIN.has(Object.getPrototypeOf(value))) return false
    if (value instanceof Uint8Array) {
      if (value.length > MAX_BYTES) return false
      continue
    }
    if (Array.isArray(value) && value.length > MAX_NODES) return false
    for (const { get, value: child } of Object.values(Object.getOwnPropertyDescriptors(value))) {
      if (get) return false
      open.push(child)
    }
    if (value instanceof Map) open.push(...value.keys(), ...value.values())
    if (value instanceof Set) open.push(...value)
  }
  return true
}
