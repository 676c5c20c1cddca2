/* Fastify with one route, which checks nothing; with REMEMBER=1 it verifies tokens by jose and remembers them. */
import Fastify, { type FastifyRequest } from 'fastify'
import { jwtVerify } from 'jose'
import { announce } from './announce.ts'

const app = Fastify()
const secret = Buffer.from(process.env.JWT_SECRET ?? '', 'base64')
const remembered = new Map<string, number>()

async function authenticate({ headers }: FastifyRequest): Promise<void> {
  const token = headers.authorization?.slice('Bearer '.length) ?? ''
  if ((remembered.get(token) ?? 0) > Date.now()) return
  const { payload } = await jwtVerify(token, secret, { algorithms: ['HS512'] })
  if (remembered.size < 10_000) remembered.set(token, (payload.exp ?? 0) * 1000)
}

app.get(
  '/sampleprotected/ping',
  process.env.REMEMBER === '1' ? { onRequest: authenticate } : {},
  async () => ({ result: 'pong' }),
)

announce(await app.listen({ host: '127.0.0.1', port: 0 }))
