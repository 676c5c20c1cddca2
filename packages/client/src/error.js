/** @import { Schemas } from '../types/api.d.ts' */

/** The `type` of an error without an answer: the network failed, the server took too long, or a proxy answered for it. */
export const NO_ANSWER = 'urn:latchkey:client:no-answer'

/** The reason for which a request has failed, with the members of its problem (RFC 9457). */
export class LatchkeyError extends Error {
  /**
   * @param {Partial<Schemas['Problem']> & { type: string }} problem
   * @param {{ retryAfter?: number | undefined, cause?: unknown }} [given]
   */
  constructor(problem, { retryAfter, cause } = {}) {
    super(problem.detail ?? problem.title ?? problem.type, { cause })
    this.name = 'LatchkeyError'
    this.type = problem.type
    /** The status of the answer; 0 without one. */
    this.status = problem.status ?? 0
    this.detail = problem.detail
    this.errors = problem.errors ?? []
    /** The seconds after which the server takes the request again, where it says so. */
    this.retryAfter = retryAfter
    /** All members, such as `challenge` and `factors`. */
    this.problem = problem
  }
}

/** @param {Response} response */
export async function readProblem(response) {
  const { status, headers } = response
  const problem = await response.json().catch(() => undefined)
  const after = headers.get('retry-after') ?? ''
  // A proxy may send a date (RFC 9110 §10.2.3).
  const seconds = /^\d+$/.test(after) ? Number(after) : Math.ceil((Date.parse(after) - Date.now()) / 1000)
  const retryAfter = seconds >= 0 ? seconds : undefined
  // A proxy that answers has no problem to tell; that is like no answer.
  const type = typeof problem?.type === 'string' ? problem.type : NO_ANSWER
  return new LatchkeyError({ title: `HTTP status ${status}`, ...problem, type, status }, { retryAfter })
}

/** @type {(cause: unknown) => never} */
export const throwNoAnswer = (cause) => {
  throw new LatchkeyError({ type: NO_ANSWER, title: 'The server did not answer' }, { cause })
}
