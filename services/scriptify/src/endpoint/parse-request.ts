import { resolve } from 'node:path'
import { findConfiguredProject } from '../classes/find-project.ts'
import type { CliContext } from '../io/cli-context.ts'
import { CliError, EXIT } from '../io/cli-error.ts'
import { readProjectSetting } from '../project-settings.ts'
import { looksLikeJson, readBody } from './request-body.ts'

/** A checked request. */
export interface EndpointRequest {
  readonly method: string
  /** The URL without user and password. */
  readonly url: URL
  readonly headers: Headers
  readonly body: Buffer<ArrayBuffer> | undefined
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
const SINGLE = new Set(['authorization', 'content-type', 'user-agent', 'accept'])
/** Headers that frame the message: with a wrong one, the server would read the body's rest as the next request. */
const FRAMING = /^(content-length|transfer-encoding|trailer|host|connection|keep-alive|upgrade|expect)$/i
/** Methods that fetch does not send: they open a tunnel or show what was sent. */
const FORBIDDEN_METHODS = /^(CONNECT|TRACE|TRACK)$/
export const DEFAULT_HEADERS = { 'User-Agent': 'scriptify', Accept: '*/*' }

const usageError = (message: string): CliError => new CliError(message, EXIT.usage)

/** Checks method, URL, headers and body; throws a CliError that never repeats a value, which may be a secret. */
export async function parseRequest(options: RequestOptions, context: CliContext): Promise<EndpointRequest> {
  const method = parseMethod(options.method)
  const given = parseHeaders(options.header)
  const { url, authorization } = takeCredentials(parseUrl(options, context.env))
  const body = await readBody(options, context)
  if (body && /^(GET|HEAD)$/.test(method))
    throw usageError(`A ${method} request has no body: use another method, such as POST`)
  const headers = new Headers({ ...DEFAULT_HEADERS, ...authorization })
  if (body && looksLikeJson(body)) headers.set('Content-Type', 'application/json')
  for (const [name, value] of given) {
    // fetch sends each character of a header as one byte.
    const bytes = Buffer.from(value).toString('latin1')
    if (SINGLE.has(name.toLowerCase())) headers.set(name, bytes)
    else headers.append(name, bytes)
  }
  return { method, url, headers, body }
}

function parseMethod(text: string): string {
  const method = text.toUpperCase()
  if (!/^[A-Z]+$/.test(method)) throw usageError('The method must consist of letters, such as GET')
  if (FORBIDDEN_METHODS.test(method)) throw usageError(`${method} does not call an endpoint`)
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
  const own = readProjectSetting(findConfiguredProject(resolve('.')), 'base', {
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
    if (FRAMING.test(name))
      throw usageError(
        `The header ${name} cannot be set: it follows from the URL, the body or the connection`,
      )
    const value = line.slice(colon + 1).replace(/^[ \t]+|[ \t]+$/g, '')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: a line break would begin another header
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value))
      throw usageError(`The value of the header ${name} contains a control character`)
    return [name, value]
  })
}
