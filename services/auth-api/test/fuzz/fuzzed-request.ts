import { anyCharacter } from '@latchkey/shared/test/any-character.ts'
import fc from 'fast-check'
import type { Operation } from './api-document.ts'

export interface FuzzedRequest {
  method: string
  /** Path and query. */
  url: string
  headers: Record<string, string>
  body: Buffer | undefined
}

/** Values that lead a request past the first checks: e-mails, passwords and tokens of users that exist. */
export interface KnownValues {
  /** By the name of the member. */
  members: Readonly<Record<string, readonly string[]>>
  tokens: readonly string[]
  /** Tokens of users whom no other request needs, for requests that end tokens. */
  expendableTokens: readonly string[]
  /** Tokens that can be refreshed, each of a user of its own. */
  refreshableTokens: readonly string[]
  /** Members that belong together: those of one reset, or of one sign-up. */
  records: readonly Readonly<Record<'email' | 'code' | 'token' | 'password', string>>[]
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND']
const OTHER_PATHS = [
  '/',
  '/docs',
  '/docs/json',
  '/openapi.json',
  '/metrics',
  '/profile/',
  '//login',
  '/%c3%28',
  '/%2e%2e',
]
const HOSTILE = [
  ...[
    '',
    ' ',
    '\u0000',
    "' or 1=1 --",
    '"; drop table users; --',
    '%',
    '\\',
    '\ud800',
    'é'.repeat(300),
    '{{7*7}}',
  ],
  ...[
    'a@example.com, b@example.com',
    '<script>',
    '123456',
    '../../etc/passwd',
    '\r\nSet-Cookie: a=b',
    'ﬀ@example.com',
  ],
]

/** These end the caller's tokens. */
const LAST_REQUESTS = ['/logout', '/profile/password']

/** Requests to the operations: most of the declared form, the rest with anything else in one place or in each. */
export function fuzzedRequests(
  operations: readonly Operation[],
  known: KnownValues,
): fc.Arbitrary<FuzzedRequest> {
  const operation = fc.constantFrom(...operations)
  return operation.chain(({ method, path, members }) =>
    fc.record({
      method: mostly(method, fc.constantFrom(...METHODS)),
      url: fc.tuple(mostly(path, fc.constantFrom(...OTHER_PATHS)), queries()).map((parts) => parts.join('')),
      headers: fc
        .tuple(authorizations(tokensFor(path, known)), contentTypes(), otherHeaders())
        .map((given) => Object.assign({}, ...given)),
      body: bodies(members, known),
    }),
  )
}

const mostly = (usual: string, other: fc.Arbitrary<string>) =>
  fc.oneof({ weight: 12, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: other })

/** RFC 3986 §3.4. What fast-check has for it draws from a map of all characters, as its `binary` does. */
const QUERY_TEXT = fc.string({
  unit: fc.oneof(
    { weight: 10, arbitrary: fc.constantFrom(...'abcxyzABCXYZ0189', ..."-._~!$&'()*+,;=:@/?") },
    { weight: 1, arbitrary: anyCharacter.map(encodeURIComponent) },
  ),
})

const queries = () =>
  mostly(
    '',
    QUERY_TEXT.map((query) => `?${query}`),
  )

function tokensFor(path: string, { tokens, expendableTokens, refreshableTokens }: KnownValues) {
  if (path === '/refreshtoken') return refreshableTokens
  return LAST_REQUESTS.includes(path) ? expendableTokens : tokens
}

const authorizations = (tokens: readonly string[]) =>
  fc
    .oneof(
      fc.constant(undefined),
      fc.constantFrom(...tokens).map((token) => `Bearer ${token}`),
      fc
        .tuple(fc.constantFrom(...tokens), fc.nat(), fc.constantFrom(...'=.-_Aé '))
        .map(([token, at, added]) => {
          const index = at % token.length
          return `Bearer ${token.slice(0, index)}${added}${token.slice(index + 1)}`
        }),
      headerText().map((text) => `Bearer ${text}`),
      headerText(),
    )
    .map((authorization) => (authorization === undefined ? {} : { authorization }))

const contentTypes = () =>
  mostly(
    'application/json',
    fc.oneof(fc.constantFrom('text/plain', 'application/json; charset=utf-16', ''), headerText()),
  ).map((type) => ({ 'content-type': type }))

const otherHeaders = () =>
  fc
    .tuple(
      fc.ipV4().map((address) => ({ 'x-forwarded-for': address })),
      fc.dictionary(
        fc.constantFrom(
          'x-request-id',
          'origin',
          'accept',
          'expect',
          'content-encoding',
          'cookie',
          'x-forwarded-host',
          'if-none-match',
        ),
        fc.oneof(headerText(), fc.constantFrom('https://app.example.com', 'gzip', '100-continue')),
        { maxKeys: 1 },
      ),
    )
    .map(([address, others]) => ({ ...others, ...address }))

/** What Node's client sends in a header. */
const headerText = () => fc.string({ maxLength: 40 }).map((text) => text.trim())

function bodies(members: readonly string[], known: KnownValues): fc.Arbitrary<Buffer | undefined> {
  const other = fc.oneof(
    fc.constantFrom(...HOSTILE),
    fc.string({ unit: anyCharacter, maxLength: 60 }),
    fc.jsonValue({ maxDepth: 2 }),
  )
  const valuesOf = (name: string) =>
    fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...(known.members[name] ?? HOSTILE)) },
      { weight: 1, arbitrary: other },
    )
  const added = fc.dictionary(fc.constantFrom(...members, 'role', '__proto__', 'constructor'), other, {
    maxKeys: 2,
  })
  const json = fc
    .tuple(
      fc.record(Object.fromEntries(members.map((name) => [name, valuesOf(name)]))),
      fc.option(added, { freq: 2 }),
    )
    .map(([usual, more]) => Buffer.from(JSON.stringify(more ? { ...usual, ...more } : usual)))
  const together = fc.constantFrom(...known.records).map((record) => {
    const values = Object.entries(record).filter(([name]) => members.includes(name))
    return Buffer.from(JSON.stringify(Object.fromEntries(values)))
  })
  if (members.length === 0) return fc.oneof({ weight: 6, arbitrary: fc.constant(undefined) }, json)
  return fc.oneof(
    { weight: 20, arbitrary: json },
    { weight: 3, arbitrary: together },
    { weight: 1, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: fc.json().map((text) => Buffer.from(text)) },
    { weight: 1, arbitrary: fc.uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes)) },
    { weight: 1, arbitrary: json.map((text) => text.subarray(0, text.length / 2)) },
    {
      weight: 1,
      arbitrary: fc.integer({ min: 16_000, max: 40_000 }).map((length) => Buffer.alloc(length, '[')),
    },
  )
}
