import { z } from 'zod'

/** What the fuzz reads of an OpenAPI document. */
const Content = z.record(
  z.string(),
  z.object({
    schema: z.record(z.string(), z.unknown()),
    examples: z.record(z.string(), z.object({ value: z.object({ type: z.string() }) })).optional(),
  }),
)
const Response = z.object({ content: Content.optional() })
const Document = z.object({
  paths: z.record(
    z.string(),
    z.record(
      z.string(),
      z.object({
        requestBody: z.object({ content: Content }).optional(),
        responses: z.record(z.string(), z.union([z.object({ $ref: z.string() }), Response])),
      }),
    ),
  ),
  components: z.object({
    schemas: z.record(z.string(), z.object({ properties: z.record(z.string(), z.unknown()).optional() })),
    responses: z.record(z.string(), Response),
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
  /** The problem types that each status is declared with. */
  problems: ReadonlyMap<number, readonly string[]>
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
  const contentOf = (response: z.output<typeof Response> | { $ref: string }) =>
    ('$ref' in response ? components.responses[nameOf(response)] : response)?.content ?? {}
  const operations = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { requestBody, responses }]) => {
      const body = Object.values(requestBody?.content ?? {})[0]?.schema
      const declared = Object.entries(responses)
        .filter(([status]) => status !== 'default')
        .map(([status, response]) => [Number(status), contentOf(response)] as const)
      return {
        method: method.toUpperCase(),
        path,
        members: body ? Object.keys(components.schemas[nameOf(body)]?.properties ?? {}) : [],
        responses: new Map(
          declared.map(([status, content]) => [
            status,
            new Map(Object.entries(content).map(([type, { schema }]) => [type, toValidator(schema)])),
          ]),
        ),
        problems: new Map(declared.map(([status, content]) => [status, problemTypesOf(content)])),
      }
    }),
  )
  if (operations.length === 0) throw new Error('The document has no operations')
  return operations
}

const problemTypesOf = (content: z.output<typeof Content>): string[] =>
  Object.values(content).flatMap(({ examples = {} }) =>
    Object.values(examples).map(({ value }) => value.type),
  )
