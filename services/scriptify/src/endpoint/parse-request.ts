import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { readProjectSetting } from '../project-settings.ts'
import { fileBody, type RequestBody, streamBody, textBody } from './request-body.ts'

/** A checked request. */
export interface EndpointRequest {
  readonly method: string
  /** The URL without user and password. */
  readonly url: URL
  /** The headers, by their names as given; the values of a name are in order. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: RequestBody | undefined
}

export interface RequestOptions {
  method: string
  url: string
  header: string[]
  body?: string
  bodyFile?: string
  base?: string
}

/** A token of RFC 9110 §5.6.2. */
const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A request has at most one of these; the last one given counts. */
const SINGLE = new Set(['authorization', 'content-type', 'host', 'user-agent', 'accept'])
/**
 * Headers that frame the body: with a wrong length the server would read its rest as the next request, and trailers are not sent.
 */
const FRAMING = new Set(['content-length', 'transfer-encoding', 'trailer'])

const usageError = (message: string): CliError => new CliError(message, EXIT.usage)

/** Checks method, URL, headers and body; throws a CliError that never repeats a value, which may be a secret. */
export async function parseRequest(options: RequestOptions, context: CliContext): Promise<EndpointRequest> {
  const method = parseMethod(options.method)
  const given = parseHeaders(options.header)
  const { url, authorization } = takeCredentials(parseUrl(options, context.env))
  const defaults = { 'User-Agent': 'scriptify', Accept: '*/*', ...authorization }
  const body = await openBody(options, context)
  return {
    method,
    url,
    body,
    headers: joinHeaders([
      ...Object.entries(defaults),
      ...(body?.isJson ? [['Content-Type', 'application/json'] as const] : []),
      ...given,
    ]),
  }
}

function parseMethod(text: string): string {
  const method = text.toUpperCase()
  if (!/^[A-Z]+$/.test(method)) throw usageError('The method must consist of letters, such as GET')
  if (method === 'CONNECT') throw usageError('CONNECT opens a tunnel and does not call an endpoint')
  return method
}

function parseUrl({ url, base }: RequestOptions, env: NodeJS.ProcessEnv): URL {
  if (!url.startsWith('/')) return parseAddress('The URL', url)
  // The path and the host of the base stay, even for a path such as //elsewhere.
  const address = parseAddress(...findBase(base, env))
  address.search = ''
  address.hash = ''
  return parseAddress('The URL', `${address.href.replace(/\/$/, '')}${url}`)
}

function findBase(base: string | undefined, env: NodeJS.ProcessEnv): [label: string, text: string] {
  if (base !== undefined) return ['--base', base]
  if (env.API_SERVER) return ['API_SERVER', env.API_SERVER]
  const own = readProjectSetting('.', 'base', {
    isValid: (value) => typeof value === 'string',
    rule: 'be a URL',
  })
  if (own !== undefined) return ['scriptify.base', own]
  throw usageError('The URL is a path: give --base, set API_SERVER, or name scriptify.base in package.json')
}

/** A message names `label` only, because the text may contain a password. */
function parseAddress(label: string, text: string): URL {
  // The parser drops tabs and newlines and trims spaces, so another URL would be called than the given one.
  if (/[\p{Cc}\s]/u.test(text))
    throw usageError(`${label} must not contain white space or control characters`)
  if (!/^https?:\/\//i.test(text)) throw usageError(`${label} must begin with http:// or https://`)
  const url = URL.parse(text)
  if (!url) throw usageError(`${label} is not a valid address`)
  return url
}

/** Moves user and password from the URL to a header, so that no message and no redirect contains them. */
function takeCredentials(given: URL): { url: URL; authorization: Record<string, string> } {
  const url = new URL(given)
  url.username = ''
  url.password = ''
  url.hash = ''
  if (given.username === '' && given.password === '') return { url, authorization: {} }
  const credentials = `${decode(given.username)}:${decode(given.password)}`
  return { url, authorization: { Authorization: `Basic ${Buffer.from(credentials).toString('base64')}` } }
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw usageError('The user or password in the URL contains a % that encodes nothing: write %25')
  }
}

function parseHeaders(lines: string[]): [name: string, value: string][] {
  return lines.map((line, index) => {
    const which = `--header number ${index + 1}`
    const colon = line.indexOf(':')
    // The text before a misplaced colon may be the secret, so it is not repeated.
    if (colon === -1) throw usageError(`${which} must have the form 'Name: value'`)
    const name = line.slice(0, colon)
    if (!TOKEN.test(name)) throw usageError(`${which} has a name that is not a token (RFC 9110)`)
    if (FRAMING.has(name.toLowerCase()))
      throw usageError(`The header ${name} cannot be set: it follows from the body`)
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another header
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      throw usageError(`The value of the header ${name} contains a control character`)
    return [name, value]
  })
}

function joinHeaders(
  headers: (readonly [name: string, value: string])[],
): ReadonlyMap<string, readonly string[]> {
  const joined = new Map<string, { name: string; values: string[] }>()
  for (const [name, value] of headers) {
    const key = name.toLowerCase()
    const before = SINGLE.has(key) ? undefined : joined.get(key)
    // Node writes each character of a header as one byte.
    const bytes = Buffer.from(value).toString('latin1')
    joined.set(key, { name: before?.name ?? name, values: [...(before?.values ?? []), bytes] })
  }
  return new Map([...joined.values()].map(({ name, values }) => [name, values]))
}

async function openBody(
  { body, bodyFile }: RequestOptions,
  context: CliContext,
): Promise<RequestBody | undefined> {
  if (body !== undefined && bodyFile !== undefined) throw usageError('Give --body or --body-file, not both')
  if (body === '-') return streamBody(context.stdin)
  if (body !== undefined) return textBody(body)
  if (bodyFile === undefined) return undefined
  // Reading the property opens the standard input of the process.
  return bodyFile === '-' ? streamBody(context.stdin) : fileBody(bodyFile)
}
