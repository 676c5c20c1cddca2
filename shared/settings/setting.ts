import { z } from 'zod'
import { decodeSecret } from '../secrets/secret.ts'
import type { Fault } from './fault.ts'
import { findOptionFault } from './url-options.ts'

/** Settings as text, by name. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One setting: how its text is read, and what the reference page says about it. */
export interface Setting<Value> {
  /** Each message is a predicate of the setting's name: `must be …`, `is missing`. */
  readonly schema: z.ZodType<Value>
  /** One sentence. */
  readonly description: string
  readonly unit?: string | undefined
  readonly default?: string | DerivedDefault | undefined
  /** A good value; absent for secrets. */
  readonly example?: string | undefined
  /** Says what to do about a fault, in place of the example. */
  readonly remedy?: string | undefined
  /** True where the whole value is a secret, which has no example. A URL that contains a password has one. */
  readonly isSecret?: boolean
}

/** A default that depends on other settings or on the service. */
export interface DerivedDefault {
  /** The default as the reference page says it. */
  readonly text: string
  readonly derive: (environment: Environment, service: string | undefined) => string | undefined
}

interface About {
  description: string
  unit?: string
  default?: string | number | DerivedDefault
  example?: string
  remedy?: string
  isSecret?: boolean
}

/** Any text; a fault where it is absent. */
export const TEXT = z.string('is missing')

/** `schema` with a check of its output. */
export const checked = <Value>(
  schema: z.ZodType<Value>,
  findFault: (value: Value) => Fault | undefined,
): z.ZodType<Value> =>
  schema.superRefine((value, context) => {
    const fault = findFault(value)
    if (fault) context.addIssue({ code: 'custom', message: fault.message, params: { remedy: fault.remedy } })
  })

/** A setting of any kind; the functions below are the common kinds. */
export function setting<Value>(
  schema: z.ZodType<Value>,
  { default: given, ...about }: About,
): Setting<Value> {
  const fallback = typeof given === 'number' ? String(given) : given
  const example = about.example ?? (typeof fallback === 'string' && fallback !== '' ? fallback : undefined)
  return { ...about, schema, default: fallback, example: about.isSecret ? undefined : example }
}

/** The same setting, but its value is undefined where it is not given, instead of a fault. */
export const optional = <Value>(wanted: Setting<Value>): Setting<Value | undefined> => ({
  ...wanted,
  schema: wanted.schema.optional(),
})

export const text = (about: About) => setting(TEXT, about)

/** Text that matches; `rule` follows "must be". */
export const matchingText = (pattern: RegExp, { rule, ...about }: About & { rule: string }) =>
  setting(TEXT.regex(pattern, `must be ${rule}`), about)

interface Range {
  /** Default 0. */
  minimum?: number
  /** Default: none below 2^53. */
  maximum?: number
}

/** A whole number, written in any way that JavaScript's `Number` takes. */
export function wholeNumber({
  minimum = 0,
  maximum = Number.MAX_SAFE_INTEGER,
  ...about
}: About & Range): Setting<number> {
  const kind = about.unit ? `a whole number of ${about.unit}` : 'a whole number'
  const range =
    maximum === Number.MAX_SAFE_INTEGER ? `, at least ${minimum}` : ` from ${minimum} to ${maximum}`
  const schema = TEXT.transform((given) => (given.trim() === '' ? Number.NaN : Number(given))).refine(
    (number) => Number.isSafeInteger(number) && number >= minimum && number <= maximum,
    `must be ${kind}${range}`,
  )
  return setting(schema, about)
}

export const seconds = (about: About & Range) => wholeNumber({ unit: 'seconds', ...about })

/** A port number; 0 lets the system choose a free one. */
export const port = (about: About) => wholeNumber({ minimum: 0, maximum: 65_535, ...about })

export function oneOf<const Choice extends string>(
  choices: readonly Choice[],
  about: About,
): Setting<Choice> {
  return setting(z.enum(choices, { error: () => `must be ${listOf(choices)}` }), about)
}

export const onOrOff = (about: About) => oneOf(['on', 'off'], { example: 'on', ...about })

interface UrlOptions {
  /** The message where there is none. */
  missing?: string
  /** Returns what is wrong beyond the scheme. */
  findFault?: (url: string) => Fault | undefined
}

/** A URL with one of `protocols`, which are written without the colon; with any where there are none. */
export function url(
  protocols: readonly string[],
  { missing, findFault = () => undefined, ...about }: About & UrlOptions,
) {
  const schema = checked(z.string(missing ?? 'is missing'), (given) => {
    const fault = findFault(given) ?? findTextFault(given)
    if (fault) return fault
    const parsed = URL.parse(withOneHost(given))
    if (parsed && (protocols.length === 0 || protocols.includes(parsed.protocol.slice(0, -1))))
      return findOptionFault(parsed)
    const starts = listOf(protocols.map((name) => `${name}://`))
    return { message: protocols.length > 0 ? `must be a URL that starts with ${starts}` : 'must be a URL' }
  })
  return setting(schema, { isSecret: false, ...about })
}

/** Returns what is wrong with the characters of a URL. */
function findTextFault(text: string): Fault | undefined {
  if (/[\t\n\r]/.test(text)) return { message: 'must be one line without tabs' }
  if (hasStrayAt(text)) return STRAY_AT
  return hasStrayPercent(text) ? STRAY_PERCENT : undefined
}

const STRAY_PERCENT: Fault = {
  message: 'must have each % of its user name and password written %25',
  remedy: 'Other characters are percent-encoded as UTF-8: ü is %C3%BC.',
}

/** True where a `%` begins no percent-encoded UTF-8. Drivers would throw an error without the setting's name. */
function hasStrayPercent(text: string): boolean {
  try {
    decodeURIComponent(text.replace(/\?[^#]*/, ''))
    return false
  } catch {
    return true
  }
}

const STRAY_AT: Fault = {
  message:
    'must have no @ but the one before its host, and each /, ? and # of its user name and password percent-encoded',
  remedy: 'Write %40 for @, %2F for /, %3F for ? and %23 for #.',
}

/** True where an `@` does not end the user name and password of a URL: the text before it could be taken for the host. */
export function hasStrayAt(text: string): boolean {
  const [, authority = '', rest = ''] = /^[^:]*:\/\/([^/?#]+)(.*)$/s.exec(text) ?? []
  return rest.includes('@') || authority.split('@').length > 2
}

/** The hosts of a URL with their ports, separated by commas: what an operator may see of it. */
export const hostsOf = (text: string): string => /^[^:]*:\/\/(?:[^@/?#]*@)?([^/?#]*)/.exec(text)?.[1] ?? ''

const SEVERAL_HOSTS = /^(rediss?-(?:sentinel|cluster):\/\/(?:[^@/?#]*@)?[^,/?#]*),[^/?#]*/

/** A URL with the first of its hosts only, as `URL` can read it. */
export const withOneHost = (text: string): string => text.replace(SEVERAL_HOSTS, '$1')

/** `a, b or c` */
const listOf = (choices: readonly string[]): string =>
  new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(choices)

/** Random bytes as base64. */
export function secret(minimumBytes: number, about: About): Setting<Uint8Array> {
  const schema = TEXT.transform((given, context) => {
    const { bytes, fault } = decodeSecret(given, minimumBytes)
    if (fault) context.addIssue(fault)
    return bytes
  })
  const size = minimumBytes === 64 ? '' : ` ${minimumBytes}`
  const remedy = `Generate one with \`npm run secret${size}\`.`
  return setting(schema, {
    remedy,
    unit: `base64 of at least ${minimumBytes} bytes`,
    isSecret: true,
    ...about,
  })
}

/** The secret that `name` had before a rotation; absent outside of one. */
export const previousSecret = (minimumBytes: number, name: string, description: string) =>
  optional(
    secret(minimumBytes, {
      description,
      remedy: `Set it to the previous ${name}, or leave it empty.`,
    }),
  )

/** Items separated by commas. */
export function list(findFault: (items: readonly string[]) => Fault | undefined, about: About) {
  const items = TEXT.transform((given) =>
    given
      .split(',')
      .map((item) => item.trim())
      .filter(Boolean),
  )
  return setting(checked(items, findFault), { default: '', ...about })
}
