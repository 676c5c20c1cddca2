import { hash, timingSafeEqual } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { createBullBoard } from '@bull-board/api'
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { FastifyAdapter } from '@bull-board/fastify'
import { isForeign } from '@latchkey/shared/health/foreign-request.ts'
import type { MailQueue } from '@latchkey/shared/mail/queue/mail-queue.ts'
import type { BullQueue } from '@latchkey/shared/mail/queue/queue-backend.ts'
import { Queue } from 'bullmq'
import type { FastifyPluginAsync, FastifyReply } from 'fastify'
import { type Problem, sendProblem, unavailable } from './send-problem.ts'

export interface QueueBoardOptions {
  queue: Pick<MailQueue, 'bull'>
  /** The password of the page, for any user name; without one it asks for none. */
  token?: string | undefined
}

const PATH = '/queue'
/** The page asks for a font of another origin, and is legible without it. */
const CONTENT_SECURITY_POLICY =
  "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'"

/** Serves Bull Board below `/queue`: the jobs of the mail queue, read-only and without what is sealed in them. */
export const queueBoard: FastifyPluginAsync<QueueBoardOptions> = async (app, { queue, token }) => {
  app.addHook('onRequest', async ({ headers }, reply) => {
    reply.headers({ 'content-security-policy': CONTENT_SECURITY_POLICY, 'cache-control': 'no-store' })
    if (token === undefined && isForeign(headers))
      return refuse(reply, problemOf(403, 'Open this page as http://localhost, with its port'))
    if (token === undefined || isPassword(headers.authorization, token)) return
    reply.header('www-authenticate', 'Basic realm="Latchkey", charset="UTF-8"')
    return refuse(reply, problemOf(401, 'Wrong password; BOARD_TOKEN of mailer-worker is the right one'))
  })

  const server = new FastifyAdapter().setBasePath(PATH)
  const { setQueues } = createBullBoard({
    queues: [],
    serverAdapter: server,
    options: { uiConfig: { boardTitle: 'Latchkey' } },
  })
  let shown: BullQueue | undefined
  app.addHook('preHandler', async ({ url }, reply) => {
    if (!url.startsWith(`${PATH}/api/`)) return
    const opened = await queue.bull().catch(() => undefined)
    if (!opened) return refuse(reply, unavailable('The mail queue is unavailable'))
    if (opened !== shown) setQueues([adapterOf(opened)])
    shown = opened
  })
  await app.register(server.registerPlugin(), { prefix: PATH })
}

/** Returns a problem whose type is its status alone (RFC 9457 §4.2.1). */
const problemOf = (status: number, detail: string): Problem => ({
  type: 'about:blank',
  title: STATUS_CODES[status] ?? 'Error',
  status,
  detail,
})

/** Answers with a problem. The page of Bull Board shows the member `error`, as in its own answers. */
const refuse = (reply: FastifyReply, problem: Problem): FastifyReply =>
  sendProblem(reply, { ...problem, error: problem.detail })

/** True where `authorization` has the token as its password (RFC 7617). Takes the same time for any other. */
function isPassword(authorization = '', token: string): boolean {
  const [, encoded = ''] = /^Basic +(\S+)$/i.exec(authorization) ?? []
  const credentials = Buffer.from(encoded, 'base64').toString()
  const password = credentials.slice(credentials.indexOf(':') + 1)
  return timingSafeEqual(hash('sha256', password, 'buffer'), hash('sha256', token, 'buffer'))
}

function adapterOf(queue: BullQueue): BullMQAdapter {
  if (!(queue instanceof Queue)) throw new TypeError('Bull Board shows only queues of BullMQ')
  const adapter = new BullMQAdapter(queue, { readOnlyMode: true })
  adapter.setFormatter('data', ({ variables, ...data }) => ({ ...data, variables: variables && '(sealed)' }))
  return adapter
}
