// The same service as one usually writes it: Fastify, @fastify/jwt (fast-jwt), pg, argon2id on libuv's pool.

import jwt from '@fastify/jwt'
import { verify } from '@node-rs/argon2'
import Fastify from 'fastify'
import pg from 'pg'

const app = Fastify()
const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL, max: 10 })
await app.register(jwt, {
  secret: Buffer.from(process.env.JWT_SECRET ?? '', 'base64'),
  sign: { algorithm: 'HS512' },
})

app.post<{ Body: { username: string; password: string } }>('/login', async (request, reply) => {
  const { username, password } = request.body
  const { rows } = await pool.query('select userid, name, role, password from users where email = $1', [
    username,
  ])
  const [user] = rows
  if (!user || !(await verify(user.password, password))) return reply.code(401).send({ error: 'wrong' })
  const data = { userid: user.userid, name: user.name, role: user.role }
  return { token: app.jwt.sign({ sub: user.userid, data }, { expiresIn: 3600 }), data }
})

app.get(
  '/sampleprotected/ping',
  { onRequest: async (request) => void (await request.jwtVerify()) },
  async () => ({
    result: 'pong',
  }),
)

const address = await app.listen({ host: '127.0.0.1', port: 0 })
process.send?.({ ready: true, address })
process.once('disconnect', () => process.exit(0))
