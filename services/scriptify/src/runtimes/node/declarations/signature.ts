import { readFile } from 'node:fs/promises'
import { type ParseResult, parse } from '@babel/parser'
import type { Orders } from '../method/caller-options.ts'
import type { Callable, Target } from '../method/target.ts'
import { locate, type Place } from './locate.ts'

export interface Parameter {
  /** As its source has it, with type and default. */
  text: string
  isOptional: boolean
  isRest: boolean
}

export interface Signature {
  parameters: Parameter[]
  /** The comment above it, without its marks. */
  comment: string
}

type Statement = ParseResult['program']['body'][number]
type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression']
type Class = Extract<Statement | Expression, { type: 'ClassDeclaration' | 'ClassExpression' }>
type Member = Extract<Class['body']['body'][number], { type: 'ClassMethod' | 'ClassProperty' }>
type Function = Extract<
  Statement | Expression,
  { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
>
type Method = Extract<Member, { type: 'ClassMethod' }>
type Node = Statement | Expression | Member

/** Reads parameters and comment where the method was written, with its types, else from the function itself. */
export async function readSignature(
  { method: name }: Pick<Orders, 'method'>,
  { method, owner }: Pick<Target, 'method' | 'owner'>,
): Promise<Signature> {
  const declaration = owner ? await findDeclaration(name, owner) : await findFunction(method)
  return { parameters: parametersOf(method), comment: '', ...declaration }
}

/** Finds the declaration of a method in its class; undefined for one that the class was given later. */
export async function findDeclaration(
  name: string,
  owner: Callable,
): Promise<(Partial<Signature> & { accessibility: string | undefined }) | undefined> {
  const { source, around } = await readAround(owner)
  const member = around.findLast(isClass)?.body.body.find((each) => isNamed(each, name))
  if (!member) return undefined
  const written = member.type === 'ClassMethod' ? member : member.value
  return {
    ...(written && isFunction(written) && { parameters: toParameters(source, written) }),
    comment: commentOf(member),
    accessibility: member.accessibility ?? undefined,
  }
}

async function findFunction(subject: Callable): Promise<Signature | undefined> {
  const { source, around } = await readAround(subject)
  const written = around.findLast(isFunction)
  // The comment is that of the statement which declares and perhaps exports it.
  const commented = around.findLast(({ leadingComments }) => leadingComments)
  return written && { parameters: toParameters(source, written), comment: commentOf(commented) }
}

/** `--arg <username: string> [--arg <name = ''>]` */
export function formatParameters({ parameters }: Signature): string {
  return parameters
    .map(({ text, isOptional, isRest }) => {
      const word = `--arg <${text}>`
      return isRest ? `[${word} …]` : isOptional ? `[${word}]` : word
    })
    .join(' ')
}

/** The comment, and a line that shows how to call what `as` refers to. */
export function formatDocs(as: string, signature: Signature): string {
  const usage = `Usage: scriptify run '${as}' ${formatParameters(signature)}`.trimEnd()
  return `${signature.comment === '' ? '' : `${signature.comment}\n\n`}${usage}\n`
}

const parseModule = (source: string) =>
  parse(source, { sourceType: 'module', errorRecovery: true, plugins: ['typescript', 'decorators'] })

/** The source of the file that a class or function was written in, and what stands around it, from the outside in. */
async function readAround(subject: Callable): Promise<{ source: string; around: Node[] }> {
  const place = locate(subject)
  if (!place) return { source: '', around: [] }
  const source = await readFile(place.file, 'utf8')
  return { source, around: [...nodesAround(parseModule(source).program.body, place)] }
}

function* nodesAround(value: unknown, place: Place): Generator<Node> {
  if (Array.isArray(value)) {
    for (const each of value) yield* nodesAround(each, place)
  } else if (isNode(value) && isAround(value, place)) {
    yield value
    for (const child of Object.values(value)) yield* nodesAround(child, place)
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'loc' in value

function isAround({ loc }: Node, { line, column }: Place): boolean {
  if (!loc) return false
  const { start, end } = loc
  const isAfterStart = start.line < line || (start.line === line && start.column <= column)
  return isAfterStart && (line < end.line || (line === end.line && column < end.column))
}

const isClass = (node: Node): node is Class =>
  node.type === 'ClassDeclaration' || node.type === 'ClassExpression'

const isFunction = (node: Node): node is Function | Method => 'params' in node && 'body' in node

const isNamed = (member: Class['body']['body'][number], name: string): member is Member =>
  (member.type === 'ClassMethod' || member.type === 'ClassProperty') &&
  ((member.key.type === 'Identifier' && member.key.name === name) ||
    (member.key.type === 'StringLiteral' && member.key.value === name))

function commentOf(node: Pick<Node, 'leadingComments'> | undefined): string {
  const comment = node?.leadingComments?.findLast(
    ({ type, value }) => type === 'CommentBlock' && value.startsWith('*'),
  )
  return withoutMarks(comment?.value.slice(1) ?? '')
}

const toParameters = (source: string, { params }: Function | Method): Parameter[] =>
  params.map((parameter) => toParameter(source, parameter))

function toParameter(
  source: string,
  parameter: Method['params'][number] | Function['params'][number],
): Parameter {
  return {
    text: source.slice(parameter.start ?? 0, parameter.end ?? 0).replaceAll(/\s+/g, ' '),
    isOptional:
      parameter.type === 'AssignmentPattern' ||
      parameter.type === 'RestElement' ||
      ('optional' in parameter && parameter.optional === true),
    isRest: parameter.type === 'RestElement',
  }
}

const withoutMarks = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()

/** What runs has no types any more, but its parameters are all there. */
function parametersOf(method: Callable): Parameter[] {
  const source = globalThis.Function.prototype.toString.call(method)
  for (const text of [`(class { ${source} })`, `(${source})`]) {
    try {
      const [statement] = parse(text).program.body
      const expression = statement?.type === 'ExpressionStatement' ? statement.expression : undefined
      if (expression?.type === 'ClassExpression') {
        const [member] = expression.body.body
        if (member?.type === 'ClassMethod') return member.params.map((each) => toParameter(text, each))
      }
      if (expression?.type === 'FunctionExpression' || expression?.type === 'ArrowFunctionExpression') {
        return expression.params.map((each) => toParameter(text, each))
      }
    } catch {
      // The other form may fit.
    }
  }
  // Native code, as a bound function has: nothing is known.
  return [{ text: '...args', isOptional: true, isRest: true }]
}
