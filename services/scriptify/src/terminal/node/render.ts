import { inspect, types } from 'node:util'

const MAX_TOTAL = 65_536
const MAX_KEYS = 100
const BOUNDS = { depth: 4, maxArrayLength: 100, maxStringLength: 2000 } as const
const MAX_LINE = 100
/** `=> ` before the first line, as many spaces before the others. */
const MARGIN = 3

// inspect() colours frames.
const FRAME = /^[^\w"'`]*\bat /
const OWN_FRAME = /^[^\w"'`]*\bat .*(node:inspector|node:internal|scriptify\/src\/terminal\/node\/)/m

/** Writes any value as text, bounded in depth, items, string length and total size. */
export function render(value: unknown, { colors }: { colors: boolean }): string {
  const text = textOf(value, colors)
  return text.length > MAX_TOTAL ? `${text.slice(0, MAX_TOTAL)}… (${text.length} characters)` : text
}

function textOf(value: unknown, colors: boolean): string {
  try {
    if (types.isUint8Array(value) && value.length === 16) return `uuid ${uuidOf(value)}`
    return withoutOwnFrames(inspect(firstKeys(value), { ...BOUNDS, breakLength: lineLength(), colors }))
  } catch (error) {
    return cannotBeShown(error)
  }
}

/** Says why a value cannot be shown. Anything may be thrown, also what cannot be a text. */
export function cannotBeShown(error: unknown): string {
  try {
    return `(cannot be shown: ${String(error)})`
  } catch {
    return '(cannot be shown)'
  }
}

const lineLength = (): number =>
  Math.min(MAX_LINE, (process.stdout.columns ?? Number.POSITIVE_INFINITY) - MARGIN)

/** Leaves the frames of the terminal itself out of the stacks in a text; a stack ends with the frames of its caller. */
function withoutOwnFrames(text: string): string {
  if (!OWN_FRAME.test(text)) return text
  const kept: string[] = []
  let isOwn = false
  for (const line of text.split('\n')) {
    isOwn = FRAME.test(line) && (isOwn || OWN_FRAME.test(line))
    if (!isOwn) kept.push(line)
    // The properties of the error follow.
    else if (line.endsWith(' {')) kept.push(`${kept.pop()} {`)
  }
  return kept.join('\n')
}

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

/** Writes an error as text, without the frames of the terminal itself, and without colours: the terminal shows it in red. */
export function describeError(error: unknown): string {
  const text = render(error, { colors: false })
  return types.isNativeError(error) ? text : `Uncaught ${text}`
}
