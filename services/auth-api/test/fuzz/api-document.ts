import { z } from 'zod'

/** What the fuzz reads of an OpenAPI document. */
const Content = z.record(z.string(), z.object({ schema: z.record(z.string(), z.unknown()) }))
const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        requestBody: z.object({ content: Content }).optional(),
        responses: z.record(z.string(), z.object({ content: Content.optional() })),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ properties: z.record(z.string(), z.unknown()).optional() })),
  }),
})

export interface Operation {
  /** In upper case. */
  method: string
  path: string
  /** The names of the members of its body; none where it has no body. */
  members: string[]
  /** What each declared status is answered with, by media type. */
  responses: ReadonlyMap<number, ReadonlyMap<string, z.ZodType>>
}

/** The operations of an OpenAPI document; throws for a document without any. */
export function parseDocument(json: unknown): Operation[] {
  const { paths, components } = Document.parse(json)
  const $defs = JSON.parse(JSON.stringify(components.schemas).replaceAll('#/components/schemas/', '#/$defs/'))
  const nameOf = (schema: Record<string, unknown>) => String(schema.$ref).split('/').at(-1) ?? ''
  const toValidator = (schema: Record<string, unknown>) => {
    const own = schema.$ref === undefined ? schema : { $ref: `#/$defs/${nameOf(schema)}` }
    return z.fromJSONSchema({ ...own, $defs })
  }
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses }]) => {
      const body = Object.values(requestBody?.content ?? {})[0]?.schema
      return {
        method: method.toUpperCase(),
        path,
        members: body ? Object.keys(components.schemas[nameOf(body)]?.properties ?? {}) : [],
        responses: new Map(
          Object.entries(responses).map(([status, { content = {} }]) => [
            Number(status),
            new Map(Object.entries(content).map(([type, { schema }]) => [type, toValidator(schema)])),
          ]),
        ),
      }
    }),
  )
  if (operations.length === 0) throw new Error('The document has no operations')
  return operations
}
