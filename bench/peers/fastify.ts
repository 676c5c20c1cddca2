/* Fastify with one route, which checks nothing. */
import Fastify from 'fastify'
import { announce } from './announce.ts'

const app = Fastify()
app.get('/sampleprotected/ping', async () => ({ result: 'pong' }))

announce(await app.listen({ host: '127.0.0.1', port: 0 }))
