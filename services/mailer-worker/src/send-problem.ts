import type { FastifyReply } from 'fastify'

/** An error as RFC 9457 describes it. */
export interface Problem {
  type: string
  title: string
  status: number
  detail: string
  [member: string]: unknown
}

/** Returns the problem of what cannot be served now, with the type and the title that auth-api has for it. */
export const unavailable = (detail: string): Problem => ({
  type: 'urn:latchkey:problem:unavailable',
  title: 'Temporarily unavailable',
  status: 503,
  detail,
})

/** Answers with a problem. */
export const sendProblem = (reply: FastifyReply, problem: Problem): FastifyReply =>
  reply.code(problem.status).type('application/problem+json').send(problem)
