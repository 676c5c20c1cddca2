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
  pattern: z.string().optional(),
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

const MediaType = z.object({ schema: Schema, examples: z.record(z.string(), z.unknown()).optional() })
const Content = z.object({ $ref: z.string().optional(), content: z.record(z.string(), MediaType).optional() })
type Content = z.output<typeof Content>
const Operation = z.object({
  operationId: z.string(),
  summary: z.string(),
  security: z.array(z.unknown()),
  requestBody: Content.optional(),
  responses: z.record(z.string(), Content),
})
/** The parts of an OpenAPI document that the page shows. */
const Document = z.object({
  paths: z.record(z.string(), z.record(z.string(), Operation)),
  components: z.object({ schemas: z.record(z.string(), Schema), responses: z.record(z.string(), Content) }),
})

/** Problems that the page names once, for all operations. */
const COMMON = new Set([
  'bad-request',
  'payload-too-large',
  'unsupported-media-type',
  'internal-server-error',
  'rate-limited',
  'unavailable',
])

/** One row for each operation of an OpenAPI document. */
export function formatOperations(openapi: unknown): string {
  const { paths, components } = Document.parse(openapi)
  const resolve = ({ $ref, content }: Content) =>
    ($ref === undefined ? content : components.responses[nameOf($ref)]?.content) ?? {}
  const rows = Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => [
      code(`${method.toUpperCase()} ${path}`),
      code(operation.operationId),
      operation.summary,
      operation.security.length > 0 ? 'Bearer' : '',
      linkSchema(operation.requestBody),
      ...answersOf(operation, resolve),
    ]),
  )
  return formatTable(['request', 'operation', 'purpose', 'token', 'body', 'success', 'problems'], rows)
}

function answersOf(
  { responses }: z.output<typeof Operation>,
  resolve: (response: Content) => NonNullable<Content['content']>,
): [success: string, problems: string] {
  const answers = Object.entries(responses).filter(([status]) => status !== 'default')
  const success = answers.filter(([status]) => status < '400')
  const problems = answers
    .flatMap(([status, response]) => Object.values(resolve(response)).map((media) => ({ status, ...media })))
    .flatMap(({ status, examples = {} }) => Object.keys(examples).map((slug) => ({ status, slug })))
    .filter(({ slug }) => !COMMON.has(slug))
  return [
    success.map(([status, response]) => `${status} ${linkSchema(response)}`.trim()).join(', '),
    problems.map(({ status, slug }) => `${status} ${code(slug)}`).join(', '),
  ]
}

function linkSchema(content: Content | undefined): string {
  const [first] = Object.values(content?.content ?? {})
  return first ? describeType(first.schema) : ''
}

/** A table of the fields for each schema of an OpenAPI document, by name. */
export function formatSchemas(openapi: unknown): string {
  const { schemas } = Document.parse(openapi).components
  return Object.entries(schemas)
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

function lengthOf({ minLength, maxLength, pattern }: Schema): string | undefined {
  if (pattern !== undefined) return `matching ${code(pattern)}`
  if (maxLength !== undefined && minLength === undefined) return `of at most ${maxLength} characters`
  if (maxLength !== undefined) return `of ${minLength} to ${maxLength} characters`
  return minLength === 1 ? '(not empty)' : undefined
}

const linkTo = (name: string): string => `[${name}](#${anchorOf(name)})`

const nameOf = (reference: string): string => reference.split('/').at(-1) ?? ''
