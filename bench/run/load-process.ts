/* Runs in a separate process: sends the requests of each order, and reports how they were answered. */
import { createHmac, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import autocannon from 'autocannon'
import type { LoadOrder, LoadReport, TokenOrder } from './load.ts'
import { quantile } from './quantile.ts'

for (;;) {
  const [order] = (await once(process, 'message')) as [LoadOrder]
  process.send?.(await run(order))
}

async function run({
  bodies = [],
  tokens,
  status,
  refusals = [],
  seconds,
  rate,
  ...order
}: LoadOrder): Promise<LoadReport> {
  const authorizations = tokens ? signTokens(tokens) : []
  const headersOf = (index: number) => ({
    ...(bodies.length > 0 ? { 'content-type': 'application/json' } : {}),
    ...(tokens ? { authorization: authorizations[index % authorizations.length] ?? '' } : {}),
  })
  const requestOf = (index: number) => ({
    method: order.method,
    headers: headersOf(index),
    ...(bodies.length > 0 ? { body: bodies[index % bodies.length] ?? '' } : {}),
  })
  let next = 0
  const isAlwaysSame = authorizations.length <= 1 && bodies.length <= 1
  const { result, latencies } = await send({
    ...order,
    duration: seconds,
    timeout: 30,
    ...(rate ? { overallRate: rate } : {}),
    ...(isAlwaysSame
      ? requestOf(0)
      : { requests: [{ setupRequest: (request) => ({ ...request, ...requestOf(next++) }) }] }),
  })
  const answers = countsOf(result).get(status) ?? 0
  return {
    answers,
    perSecond: answers / result.duration,
    p50Ms: quantile(latencies, 0.5),
    p99Ms: quantile(latencies, 0.99),
    wrong: findWrong(result, [status, ...refusals]),
  }
}

/** Sends requests and measures latencies in milliseconds with fractions, which autocannon's summary lacks. */
function send(options: autocannon.Options) {
  const latencies: number[] = []
  return new Promise<{ result: autocannon.Result; latencies: number[] }>((resolve, reject) => {
    const instance = autocannon(options, (error, result) =>
      error ? reject(error) : resolve({ result, latencies }),
    )
    instance.on('response', (_client, _status, _bytes, milliseconds) => void latencies.push(milliseconds))
  })
}

function countsOf({ statusCodeStats = {} }: autocannon.Result): Map<number, number> {
  return new Map(Object.entries(statusCodeStats).map(([status, { count = 0 }]) => [Number(status), count]))
}

function findWrong(result: autocannon.Result, right: readonly number[]): Record<string, number> {
  const others = [...countsOf(result)].filter(([each]) => !right.includes(each))
  return Object.fromEntries(
    result.errors > 0 ? [...others, ['an error of the connection', result.errors]] : others,
  )
}

/** Signs tokens without jose: signing a hundred thousand with WebCrypto would take longer than the measurement. */
function signTokens({ secret, issuer, userids, count }: TokenOrder): string[] {
  const key = Buffer.from(secret, 'base64')
  const now = Math.floor(Date.now() / 1000)
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const header = encode({ alg: 'HS512', typ: 'JWT' })
  return Array.from({ length: count }, (_, index) => {
    const userid = userids[index % userids.length] ?? ''
    const claims = {
      auth_time: now,
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
