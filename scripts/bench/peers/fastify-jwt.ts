/*
 * The service as one usually writes it: Fastify, @fastify/jwt (fast-jwt), pg, BullMQ, argon2id on libuv's pool. It limits
 * nothing, and its resets are lost with a crash between the statement and the queue.
 */
import { createHash, hash, randomBytes, randomInt, randomUUID } from 'node:crypto'
import jwt from '@fastify/jwt'
import { verify } from '@node-rs/argon2'
import { createPostgresBackend, Queue } from 'bullmq'
import Fastify, { type FastifyRequest } from 'fastify'
import pg from 'pg'
import {
  FIND_BY_EMAIL,
  FIND_PROFILE,
  INSERT_RESET,
  REFRESH,
  SET_NAME,
  toProfile,
  toTokenData,
  type UserRow,
} from './statements.ts'

declare module '@fastify/jwt' {
  interface FastifyJWT {
    user: { sub: string; jti: string }
  }
}

const app = Fastify()
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
const mails = openQueue(process.env.QUEUE_URL ?? '')
await app.register(jwt, {
  secret: Buffer.from(process.env.JWT_SECRET ?? '', 'base64'),
  sign: { algorithm: 'HS512' },
})
const PROTECTED = { onRequest: async (request: FastifyRequest) => void (await request.jwtVerify()) }

const find = async (text: string, values: unknown[]) => (await pool.query<UserRow>(text, values)).rows

function toToken(user: UserRow) {
  const data = toTokenData(user)
  return { token: app.jwt.sign({ data, jti: randomUUID() }, { expiresIn: 3600, sub: user.userid }), data }
}

const isPassword = async (password: string, stored: string) =>
  stored.startsWith('$argon2') ? verify(stored, password) : hash('sha1', password) === stored

app.post<{ Body: { username: string; password: string } }>('/login', async (request, reply) => {
  const { username, password } = request.body
  const [user] = await find(FIND_BY_EMAIL, [username])
  if (!user || !(await isPassword(password, user.password))) return reply.code(401).send({ error: 'wrong' })
  return toToken(user)
})

app.get('/sampleprotected/ping', PROTECTED, async () => ({ result: 'pong' }))

app.get('/profile', PROTECTED, async ({ user }) => toProfile(await find(FIND_PROFILE, [user.sub])))

app.put<{ Body: { name: string } }>('/profile', PROTECTED, async ({ user, body }) => {
  await pool.query(SET_NAME, [user.sub, body.name])
  return toProfile(await find(FIND_PROFILE, [user.sub]))
})

app.post('/refreshtoken', PROTECTED, async ({ user: { sub, jti } }, reply) => {
  const [user] = await find(REFRESH, [sub, hash('sha256', jti), hash('sha256', sub)])
  return user ? toToken(user) : reply.code(401).send({ error: 'gone' })
})

app.post<{ Body: { email: string } }>('/login/resetrequest', async ({ body: { email } }) => {
  const token = randomBytes(32).toString('base64url')
  const [user] = await find(FIND_BY_EMAIL, [email])
  if (!user) return { token }
  const [id, code] = [randomUUID(), String(randomInt(1_000_000)).padStart(6, '0')]
  const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')
  await pool.query(INSERT_RESET, [id, user.userid, user.email, hashOf(token), hashOf(code)])
  await mails.add('mail', { to: user.email, code }, { removeOnComplete: true })
  return { token }
})

process.send?.({ ready: true, address: await app.listen({ host: '127.0.0.1', port: 0 }) })
process.once('disconnect', () => process.exit(0))

function openQueue(url: string): Pick<Queue, 'add'> {
  return /^rediss?:/.test(url)
    ? new Queue('peer-mail', { connection: { url } })
    : new Queue('peer-mail', { connection: { connectionString: url } }, createPostgresBackend)
}
