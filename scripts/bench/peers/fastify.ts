/* Fastify with one route, which checks nothing. */
import Fastify from 'fastify'

const app = Fastify()
app.get('/sampleprotected/ping', async () => ({ result: 'pong' }))

process.send?.({ ready: true, address: await app.listen({ host: '127.0.0.1', port: 0 }) })
process.once('disconnect', () => process.exit(0))
