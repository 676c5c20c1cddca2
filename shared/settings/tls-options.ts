import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'
import type { Fault } from './fault.ts'

/**
 * The encryption of a connection, in libpq's words: `require` verifies nothing, `verify-ca` who has signed the server's
 * certificate, `verify-full` also that it is for the host of the URL.
 */
export type TlsMode = 'disable' | 'require' | 'verify-ca' | 'verify-full'

/** The options of a URL about TLS. `files` are read by `loadTls`. */
export interface Tls {
  mode: TlsMode
  files: Readonly<Record<string, string>>
  /** The JSON of `ssl` in a URL of MySQL. */
  given: JsonOptions
}

/** The modes as libpq, MySQL, and drivers of Go, Java, Node and Python write them, in lower case with dashes. */
const SPELLINGS: readonly (readonly [TlsMode, ...string[]])[] = [
  ['disable', 'disabled', 'false', '0'],
  ['require', 'required', 'trust', 'skip-verify', 'no-verify'],
  ['verify-ca'],
  ['verify-full', 'verify-identity'],
]
/** The options that choose a mode, and the mode that `true` means. Names count without case, dashes and underscores. */
const MODE_OPTIONS: Readonly<Record<string, TlsMode | undefined>> = {
  sslmode: undefined,
  ssl: 'verify-full',
  tls: 'verify-full',
  usessl: 'require',
}
const FILE_OPTIONS: Readonly<Record<string, 'ca' | 'cert' | 'key'>> = {
  sslrootcert: 'ca',
  sslca: 'ca',
  sslcert: 'cert',
  sslkey: 'key',
}
/** The members of the JSON of `ssl` that mysql2 takes. */
const JSON_OPTIONS = [
  ...['ca', 'cert', 'key', 'passphrase', 'ciphers', 'minVersion', 'maxVersion'],
  ...['rejectUnauthorized', 'verifyIdentity'],
]

/** The names that the documentation uses. */
export const TLS_OPTIONS = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey'] as const

const plainName = (name: string): string => name.toLowerCase().replaceAll(/[-_]/g, '')

/** True for an option of a URL about TLS, in any spelling. */
export const isTlsOption = (name: string): boolean =>
  Object.hasOwn(MODE_OPTIONS, plainName(name)) || Object.hasOwn(FILE_OPTIONS, plainName(name))

/** Reads what a URL says about TLS, or what is wrong with that. */
export function parseTls({ protocol, searchParams }: URL): { tls: Tls; fault?: Fault } {
  const files: Record<string, string> = {}
  const modes = new Set<TlsMode>()
  let given: JsonOptions | undefined
  for (const [name, value] of searchParams) {
    const plain = plainName(name)
    const file = FILE_OPTIONS[plain]
    if (file) files[file] = value
    if (!Object.hasOwn(MODE_OPTIONS, plain)) continue
    const json = plain === 'ssl' && /^(mysql|mariadb):/.test(protocol) ? parseJson(value) : undefined
    const fault = json && findJsonFault(json)
    const mode = json ? modeOf(json) : modeNamed(value, MODE_OPTIONS[plain])
    if (fault || !mode) return { tls: IN_CLEAR, fault: fault ?? unknownMode(name) }
    given = json ?? given
    modes.add(mode)
  }
  const isRediss = protocol.startsWith('rediss')
  if (modes.size > 1 || (isRediss && modes.has('disable'))) return { tls: IN_CLEAR, fault: SEVERAL_MODES }
  const isOn = isRediss || Object.keys(files).length > 0
  const [mode = isOn ? 'verify-full' : 'disable'] = modes
  // A JSON object says by itself what is verified.
  const chosen = given ? mode : strengthen(mode, files.ca)
  return { tls: { mode: chosen, files, given: given ?? {} } }
}

/**
 * An authority is named to be verified, as for libpq. Any server gets a certificate of a public authority, which therefore says
 * nothing without the host.
 */
function strengthen(mode: TlsMode, ca: string | undefined): TlsMode {
  if (mode === 'disable') return mode
  if (ca === 'system' || (mode === 'verify-ca' && ca === undefined)) return 'verify-full'
  return mode === 'require' && ca !== undefined ? 'verify-ca' : mode
}

const IN_CLEAR: Tls = { mode: 'disable', files: {}, given: {} }

function modeNamed(value: string, on: TlsMode | undefined): TlsMode | undefined {
  const word = value.toLowerCase().replaceAll('_', '-')
  if (word === 'true' || word === '1') return on
  return SPELLINGS.find((names) => names.some((name) => name === word))?.[0]
}

const SEVERAL_MODES: Fault = {
  message: 'must say once whether the connection is encrypted',
  remedy: 'Keep one option, for example sslmode=verify-full.',
}

const unknownMode = (name: string): Fault => ({
  message: `must have one of disable, require, verify-ca and verify-full as its ${name}`,
  remedy:
    'For example: sslmode=verify-full, which verifies the certificate and its host; require only encrypts.',
})

type JsonOptions = Readonly<Record<string, unknown>>

function parseJson(value: string): JsonOptions | undefined {
  try {
    return value.startsWith('{') ? JSON.parse(value) : undefined
  } catch {
    return undefined
  }
}

function modeOf({ rejectUnauthorized, verifyIdentity }: JsonOptions): TlsMode {
  if (rejectUnauthorized === false) return 'require'
  return verifyIdentity ? 'verify-full' : 'verify-ca'
}

function findJsonFault(json: JsonOptions): Fault | undefined {
  if (Object.keys(json).some((name) => !JSON_OPTIONS.includes(name)))
    return {
      message: `must have in ssl only ${JSON_OPTIONS.join(', ')}`,
      remedy: 'Or write sslmode=verify-full.',
    }
  const isText = (name: string) => json[name] !== undefined && !isPem(String(json[name]))
  const [path] = ['ca', 'cert', 'key'].filter(isText)
  if (!path) return undefined
  const option = { ca: 'sslrootcert', cert: 'sslcert', key: 'sslkey' }[path]
  return {
    message: `must have text in PEM as ${path} in ssl, and not the name of a file`,
    remedy: `Write &${option}=/path/of/the/file beside sslmode=verify-full.`,
  }
}

const isPem = (text: string): boolean => text.includes('-----BEGIN ')

/** Finds what is wrong with the options of TLS in a URL, and with the files that they name. */
export function findTlsFault(url: URL): Fault | undefined {
  const { tls, fault } = parseTls(url)
  if (fault) return fault
  try {
    readFiles(tls)
    return undefined
  } catch (error) {
    const reason = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    return {
      message: `must name files in PEM in sslrootcert, sslcert and sslkey, and one of them is not readable or not PEM${reason}`,
      remedy: 'Correct the path, and let this user read the file.',
    }
  }
}

function readFiles({ files }: Tls): TlsFiles {
  const named = Object.entries(files).filter(([, path]) => path !== 'system')
  return Object.fromEntries(
    named.map(([name, path]) => {
      const text = readFileSync(path, 'utf8')
      if (!isPem(text)) throw new Error(`${name} is not PEM`)
      return [name, text]
    }),
  )
}

/** The files as Node's `tls.connect` and the drivers take them. */
interface TlsFiles {
  ca?: string
  cert?: string
  key?: string
}

/** Loads what a URL that `findTlsFault` accepts says about TLS; undefined for a connection in clear. */
export function loadTls(url: URL) {
  const { tls } = parseTls(url)
  const { mode, given } = tls
  return mode === 'disable'
    ? undefined
    : { mode, given, options: { ...readFiles(tls), rejectUnauthorized: mode !== 'require' } }
}

/** Options of Node's `tls.connect`, which knows the host; undefined for a connection in clear. */
export function nodeTlsOptions(url: URL): ConnectionOptions | undefined {
  const tls = loadTls(url)
  return tls?.mode === 'verify-ca' ? { ...tls.options, checkServerIdentity: () => undefined } : tls?.options
}
