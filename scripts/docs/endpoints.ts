import { z } from 'zod'
import { code, formatTable } from './markdown.ts'

const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.unknown()),
  responses: z.record(z.string(), z.unknown()),
})
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), Operation)) })

/** One row for each operation of an OpenAPI document. */
export function formatOperations(openapi: unknown): string {
  const rows = Object.entries(Document.parse(openapi).paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, { operationId, summary, security, responses }]) => [
      code(`${method.toUpperCase()} ${path}`),
      code(operationId),
      summary,
      security.length > 0 ? 'Bearer' : '',
      Object.keys(responses)
        .filter((status) => status < '400')
        .join(', '),
    ]),
  )
  return formatTable(['request', 'operation', 'purpose', 'token', 'success'], rows)
}
