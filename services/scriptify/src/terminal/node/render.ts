import { inspect, types } from 'node:util'

const MAX_TOTAL = 65_536
const MAX_KEYS = 100
const BOUNDS = { depth: 4, maxArrayLength: 100, maxStringLength: 2000 } as const
const MAX_LINE = 100
/** `=> ` before the first line, as many spaces before the others. */
const MARGIN = 3

/** Writes any value as text, bounded in depth, items, string length and total size. */
export function render(value: unknown, { colors }: { colors: boolean }): string {
  const text = textOf(value, colors)
  return text.length > MAX_TOTAL ? `${text.slice(0, MAX_TOTAL)}… (${text.length} characters)` : text
}

function textOf(value: unknown, colors: boolean): string {
  try {
    if (types.isUint8Array(value) && value.length === 16) return `uuid ${uuidOf(value)}`
    return inspect(firstKeys(value), { ...BOUNDS, breakLength: lineLength(), colors })
  } catch (error) {
    return cannotBeShown(error)
  }
}

/** Says why a value cannot be shown. Anything may be thrown, also what cannot be a text. */
function cannotBeShown(error: unknown): string {
  try {
    return `(cannot be shown: ${String(error)})`
  } catch {
    return '(cannot be shown)'
  }
}

const lineLength = (): number =>
  Math.min(MAX_LINE, (process.stdout.columns || Number.POSITIVE_INFINITY) - MARGIN)

/** inspect() bounds arrays and strings, but prints every key of an object. */
function firstKeys(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  const keys = Object.keys(value)
  if (keys.length <= MAX_KEYS) return value
  const shown = Object.fromEntries(keys.slice(0, MAX_KEYS).map((key) => [key, Reflect.get(value, key)]))
  return { ...shown, '…': `${keys.length - MAX_KEYS} more` }
}

const uuidOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes)
    .toString('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')

/** Writes an error as text, without colours: the terminal shows it in red. */
export function describeError(error: unknown): string {
  const text = render(error, { colors: false })
  return types.isNativeError(error) ? text : `Uncaught ${text}`
}
