import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import Fastify from 'fastify'
import { createVerify } from './verify.ts'

const { PORT = '3000', LATCHKEY = 'http://localhost:8080', DATABASE = 'todo.db', JWT_SECRET } = process.env

// Latchkey says how it signs. A token never does.
const answer = await fetch(`${LATCHKEY}/.well-known/jwks.json`).catch(() => undefined)
if (!answer) exit(`Latchkey does not answer at ${LATCHKEY}: start it with npm start`)
const isBySecret = answer.status === 404
if (isBySecret && !JWT_SECRET)
  exit('Latchkey signs with its JWT_SECRET: set the same here, or let it sign with a key')
const verify = createVerify(LATCHKEY, isBySecret ? JWT_SECRET : undefined)

const db = new DatabaseSync(DATABASE)
db.exec('create table if not exists todo (id integer primary key, userid text not null, title text not null)')
const list = db.prepare('select id, title from todo where userid = ? order by id')
const insert = db.prepare('insert into todo (userid, title) values (?, ?)')
const remove = db.prepare('delete from todo where userid = ? and id = ?')

const app = Fastify()
const title = { type: 'string', minLength: 1, maxLength: 200 }
const body = { type: 'object', required: ['title'], properties: { title } }
app.get('/api/todos', async (request) => list.all((await verify(request)).sub))
app.post<{ Body: { title: string } }>('/api/todos', { schema: { body } }, async (request, reply) => {
  insert.run((await verify(request)).sub, request.body.title)
  reply.code(204)
})
app.delete<{ Params: { id: string } }>('/api/todos/:id', async (request, reply) => {
  remove.run((await verify(request)).sub, request.params.id)
  reply.code(204)
})

app.get('/settings.json', async () => ({ url: LATCHKEY }))
app.register(fastifyStatic, { root: join(import.meta.dirname, 'public') })
const client = dirname(fileURLToPath(import.meta.resolve('@latchkey/client')))
app.register(fastifyStatic, { root: client, prefix: '/client/', decorateReply: false })
await app.listen({ host: 'localhost', port: Number(PORT) }).catch((error: Error) => exit(error.message))
console.log(`Open http://localhost:${PORT}`)

function exit(reason: string): never {
  console.error(reason)
  process.exit(1)
}
