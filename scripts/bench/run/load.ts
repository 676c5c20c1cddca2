import { createHmac, randomUUID } from 'node:crypto'
import autocannon from 'autocannon'

/** Requests of one kind, as many as the connections carry. */
export interface LoadOrder {
  url: string
  method: 'GET' | 'POST' | 'PUT'
  /** JSON, sent in turn. Default: no body. */
  bodies?: readonly string[]
  tokens?: TokenOrder
  connections: number
  seconds: number
  /** The status of every answer. */
  status: number
  /** Statuses of refusals, which do not count as answers. Default: none. */
  refusals?: readonly number[]
}

/** The tokens of the requests, sent in turn. */
export interface TokenOrder {
  /** Base64. */
  secret: string
  issuer: string
  userids: readonly string[]
  count: number
}

export interface Load {
  answers: number
  perSecond: number
  p50Ms: number
  p99Ms: number
}

/** Sends the requests; throws if an answer has another status. */
export async function sendLoad(order: LoadOrder): Promise<Load> {
  const { url, method, bodies = [], tokens, connections, seconds, status, refusals = [] } = order
  const authorizations = tokens ? signTokens(tokens) : []
  const requestOf = (index: number) => ({
    method,
    headers: {
      ...(bodies.length > 0 ? { 'content-type': 'application/json' } : {}),
      ...(tokens ? { authorization: authorizations[index % authorizations.length] ?? '' } : {}),
    },
    ...(bodies.length > 0 ? { body: bodies[index % bodies.length] ?? '' } : {}),
  })
  let next = 0
  const isAlwaysSame = authorizations.length <= 1 && bodies.length <= 1
  const { result, latencies } = await runAutocannon({
    url,
    connections,
    duration: seconds,
    timeout: 30,
    ...(isAlwaysSame
      ? requestOf(0)
      : { requests: [{ setupRequest: (request) => ({ ...request, ...requestOf(next++) }) }] }),
  })
  const counts = Object.entries(result.statusCodeStats ?? {})
  const wrong = counts
    .filter(([each]) => ![status, ...refusals].includes(Number(each)))
    .map(([each, { count }]) => `${count} times ${each}`)
  if (result.errors > 0) wrong.push(`${result.errors} times an error of the connection`)
  if (wrong.length > 0)
    throw new Error(`${method} ${url} was answered ${wrong.join(', ')} instead of ${status}`)
  const answers = counts.find(([each]) => Number(each) === status)?.[1].count ?? 0
  return {
    answers,
    perSecond: answers / result.duration,
    p50Ms: median(latencies),
    p99Ms: quantile(latencies, 0.99),
  }
}

/** Sends requests and measures latencies in milliseconds with fractions, which autocannon's summary lacks. */
function runAutocannon(options: autocannon.Options) {
  const latencies: number[] = []
  return new Promise<{ result: autocannon.Result; latencies: number[] }>((resolve, reject) => {
    const instance = autocannon(options, (error, result) =>
      error ? reject(error) : resolve({ result, latencies }),
    )
    instance.on('response', (_client, _status, _bytes, milliseconds) => void latencies.push(milliseconds))
  })
}

/** Signs values of the header Authorization, by hand: a hundred thousand by WebCrypto would take longer than the measurement. */
export function signTokens({ secret, issuer, userids, count }: TokenOrder): string[] {
  const key = Buffer.from(secret, 'base64')
  const now = Math.floor(Date.now() / 1000)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'HS512', typ: 'JWT' })
  return Array.from({ length: count }, (_, index) => {
    const userid = userids[index % userids.length] ?? ''
    const claims = {
      auth_time: now,
      valid_from: now,
      sid: randomUUID(),
      data: { userid, name: 'User', role: 'user' },
      iss: issuer,
      sub: userid,
      iat: now,
      nbf: now,
      exp: now + 3600,
      jti: randomUUID(),
    }
    const text = `${header}.${encode(claims)}`
    return `Bearer ${text}.${createHmac('sha512', key).update(text).digest('base64url')}`
  })
}

/** The value below which the share `q` of `list` lies. */
function quantile(list: readonly number[], q: number): number {
  const sorted = [...list].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? Number.NaN
}

export const median = (list: readonly number[]): number => quantile(list, 0.5)
