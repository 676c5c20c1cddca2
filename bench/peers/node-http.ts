/* The least that Node needs for the same answers: node:http, createHmac, prepared statements. It checks no input. */
import { createHmac, createSecretKey, hash, randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import pg from 'pg'
import { announce } from './announce.ts'
import {
  FIND_BY_EMAIL,
  FIND_PROFILE,
  REFRESH,
  SET_NAME,
  toProfile,
  toTokenData,
  type UserRow,
} from './statements.ts'

const secret = createSecretKey(Buffer.from(process.env.JWT_SECRET ?? '', 'base64'))
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const sign = (text: string) => createHmac('sha512', secret).update(text).digest('base64url')
const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
const HEADER = encode({ alg: 'HS512', typ: 'JWT' })

async function find(name: string, text: string, values: unknown[]) {
  const { rows } = await pool.query<UserRow>({ name, text, values })
  return rows
}

function verify({ headers }: IncomingMessage): { sub: string; jti: string } {
  const token = headers.authorization?.slice('Bearer '.length) ?? ''
  const end = token.lastIndexOf('.')
  if (sign(token.slice(0, end)) !== token.slice(end + 1)) throw new Error('Invalid token')
  return JSON.parse(Buffer.from(token.slice(token.indexOf('.') + 1, end), 'base64url').toString())
}

function toToken([user]: UserRow[]) {
  if (!user) throw new Error('No such user')
  const [data, now] = [toTokenData(user), Math.floor(Date.now() / 1000)]
  const claims = { sub: user.userid, data, jti: randomUUID(), iat: now, exp: now + 3600 }
  const text = `${HEADER}.${encode(claims)}`
  return { token: `${text}.${sign(text)}`, data }
}

async function update(request: IncomingMessage) {
  const { sub } = verify(request)
  const body = (await json(request)) as { name: string }
  await find('name', SET_NAME, [sub, body.name])
  return toProfile(await find('profile', FIND_PROFILE, [sub]))
}

async function logIn(request: IncomingMessage) {
  const { username, password } = (await json(request)) as { username: string; password: string }
  const rows = await find('login', FIND_BY_EMAIL, [username])
  if (rows[0]?.password !== hash('sha1', password)) throw new Error('Wrong password')
  return toToken(rows)
}

async function refresh(request: IncomingMessage) {
  const { sub, jti } = verify(request)
  return toToken(await find('refresh', REFRESH, [sub, hash('sha256', jti), hash('sha256', sub)]))
}

const ROUTES: Readonly<Record<string, (request: IncomingMessage) => object | Promise<object>>> = {
  'GET /sampleprotected/ping': (request) => verify(request) && { result: 'pong' },
  'GET /profile': async (request) => toProfile(await find('profile', FIND_PROFILE, [verify(request).sub])),
  'PUT /profile': update,
  'POST /login': logIn,
  'POST /refreshtoken': refresh,
}

const server = createServer(async (request, response) => {
  try {
    const body = JSON.stringify(await ROUTES[`${request.method} ${request.url}`]?.(request))
    response.writeHead(200, {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    })
    response.end(body)
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
})
server.listen(0, '127.0.0.1', () => announce(`http://127.0.0.1:${(server.address() as AddressInfo).port}`))
