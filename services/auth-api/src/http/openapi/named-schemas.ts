import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'

export type JsonSchema = Record<string, unknown>
/** `input` is what a client may send, `output` what it receives: a default makes a field optional in the first only. */
export type Direction = 'input' | 'output'

const COMPONENTS = '#/components/schemas/'

export type NamedSchemas = ReturnType<typeof createNamedSchemas>

/** A body: its schema, which is a reference where it has a name, and the first example of its `meta`. */
export interface MediaType {
  schema: JsonSchema
  example?: unknown
}

/** JSON Schemas of zod's. One with an `id` in its `meta` is referred to by that name, and collected once. */
export function createNamedSchemas() {
  const components = new Map<string, JsonSchema>()

  function collect(name: string, { examples, ...schema }: JsonSchema): void {
    const known = components.get(name)
    if (known && !isDeepStrictEqual(known, schema))
      throw new Error(`Two different schemas are called ${name}`)
    components.set(name, schema)
  }

  function toMediaType(schema: z.core.$ZodType, io: Direction): MediaType {
    const definitions = withReferences(z.toJSONSchema(schema, { io, override: simplify }))
    const { $schema, $defs = {}, examples: _, ...json } = definitions
    for (const [name, definition] of Object.entries($defs)) collect(name, definition)
    const examples = z.globalRegistry.get(schema)?.examples
    return Array.isArray(examples) ? { schema: json, example: examples[0] } : { schema: json }
  }

  return {
    components,
    toMediaType,
    toJson: (schema: z.ZodType, io: Direction): JsonSchema => toMediaType(schema, io).schema,
  }
}

const simplify: NonNullable<z.core.ToJSONSchemaParams['override']> = ({ zodSchema, jsonSchema }) => {
  const { def } = zodSchema._zod
  // zod closes the objects of responses. A client must accept fields that a later version adds.
  if (def.type === 'object' && !def.catchall) delete jsonSchema.additionalProperties
  // These say no more than `format`, and than that JSON's names are strings.
  if (jsonSchema.format) delete jsonSchema.pattern
  if (def.type === 'record') delete jsonSchema.propertyNames
}

interface Definitions extends JsonSchema {
  $defs?: Record<string, JsonSchema>
}

const withReferences = (schema: z.core.JSONSchema.BaseSchema): Definitions =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/$defs/', `"${COMPONENTS}`))
