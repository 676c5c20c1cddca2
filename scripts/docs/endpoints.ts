import { z } from 'zod'
import { anchorOf, code, formatTable } from './markdown.ts'

const Schema = z.looseObject({
  $ref: z.string().optional(),
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.string()).optional(),
  const: z.string().optional(),
  format: z.string().optional(),
  minLength: z.number().optional(),
  maxLength: z.number().optional(),
  required: z.array(z.string()).optional(),
  get properties() {
    return z.record(z.string(), Schema).optional()
  },
  get items() {
    return Schema.optional()
  },
  get additionalProperties() {
    return z.union([z.boolean(), Schema]).optional()
  },
  get anyOf() {
    return z.array(Schema).optional()
  },
})
type Schema = z.output<typeof Schema>

const Content = z.object({ content: z.record(z.string(), z.object({ schema: Schema })).optional() })
const Operation = z.object({
  summary: z.string(),
  security: z.array(z.unknown()).optional(),
  requestBody: Content.optional(),
  responses: z.record(z.string(), Content),
})
/** The parts of an OpenAPI document that the page shows. */
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema) }),
})

/** One row for each operation of an OpenAPI document. */
export function formatOperations(openapi: unknown): string {
  const { paths } = Document.parse(openapi)
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => [
      code(`${method.toUpperCase()} ${path}`),
      operation.summary,
      operation.security ? 'Bearer' : '',
      linkSchema(operation.requestBody),
      ...answersOf(operation),
    ]),
  )
  return formatTable(['request', 'purpose', 'token', 'body', 'success', 'problems'], rows)
}

function answersOf({ responses }: z.output<typeof Operation>): [success: string, problems: string] {
  const statuses = Object.keys(responses)
  const success = statuses.filter((status) => status < '400')
  return [
    success.map((status) => `${status} ${linkSchema(responses[status])}`).join(', '),
    statuses.filter((status) => status >= '400').join(', '),
  ]
}

function linkSchema(content: z.output<typeof Content> | undefined): string {
  const [first] = Object.values(content?.content ?? {})
  return first ? describeType(first.schema) : ''
}

/** A table of the fields for each schema of an OpenAPI document, by name: their order there is that of imports. */
export function formatSchemas(openapi: unknown): string {
  const { schemas } = Document.parse(openapi).components
  const named = new Map(Object.entries(schemas).map(([name, schema]) => [nameOf(name), schema]))
  return [...named]
    .toSorted(([a], [b]) => a.localeCompare(b))
    .map(
      ([name, schema]) =>
        `### ${name}\n\n${formatTable(['field', 'type', 'required', ''], fieldsOf(schema))}`,
    )
    .join('\n\n')
}

const fieldsOf = ({ properties = {}, required = [] }: Schema): string[][] =>
  Object.entries(properties).map(([name, field]) => [
    code(name),
    describeType(field),
    required.includes(name) ? 'yes' : '',
    field.description ?? '',
  ])

function describeType(schema: Schema): string {
  if (schema.$ref) return linkTo(nameOf(schema.$ref))
  if (schema.const !== undefined) return code(JSON.stringify(schema.const))
  if (schema.enum) return schema.enum.map((value) => code(value)).join(', ')
  if (schema.anyOf) return schema.anyOf.map(describeType).join(' or ')
  if (schema.properties) {
    const fields = Object.entries(schema.properties).map(
      ([name, field]) => `${code(name)}: ${describeType(field)}`,
    )
    return `object {${fields.join(', ')}}`
  }
  if (schema.items) return `array of ${describeType(schema.items)}`
  if (typeof schema.additionalProperties === 'object')
    return `object of ${describeType(schema.additionalProperties)}`
  return [[schema.type ?? []].flat().join(' or '), lengthOf(schema), schema.format && `(${schema.format})`]
    .filter(Boolean)
    .join(' ')
}

function lengthOf({ minLength, maxLength }: Schema): string | undefined {
  if (maxLength !== undefined) return `of ${minLength ?? 0} to ${maxLength} characters`
  return minLength === 1 ? '(not empty)' : undefined
}

const linkTo = (name: string): string => `[${name}](#${anchorOf(name)})`

/** fastify-type-provider-zod names a schema `<name>Input` where a request uses it. */
const nameOf = (reference: string): string => (reference.split('/').at(-1) ?? '').replace(/Input$/, '')
