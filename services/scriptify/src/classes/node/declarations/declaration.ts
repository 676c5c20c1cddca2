import { type ParseResult, parse } from '@babel/parser'
import type { Callable } from './callable.ts'
import { locate, type SourceLocation } from './locate.ts'

export interface Parameter {
  /** The parameter as written, with type and default. */
  text: string
  isOptional: boolean
  isRest: boolean
}

/** What is written about a function or method. */
export interface Declaration {
  name: string
  /** Undefined for a property that is not a function expression. */
  parameters: Parameter[] | undefined
  /** The return type as written, without the colon; empty if there is none. */
  returns: string
  /** The doc comment without its marks; empty if there is none. */
  comment: string
  /** TypeScript's modifier, if there is one. */
  accessibility: string | undefined
}

export interface ClassDeclaration {
  comment: string
  members: Declaration[]
}

type Statement = ParseResult['program']['body'][number]
type Expression = Extract<Statement, { type: 'ExpressionStatement' }>['expression']
type Class = Extract<Statement | Expression, { type: 'ClassDeclaration' | 'ClassExpression' }>
type ClassElement = Class['body']['body'][number]
type Member = Extract<ClassElement, { type: 'ClassMethod' | 'ClassProperty' }>
type FunctionNode =
  | Extract<
      Statement | Expression,
      { type: 'FunctionDeclaration' | 'FunctionExpression' | 'ArrowFunctionExpression' }
    >
  | Extract<Member, { type: 'ClassMethod' }>
type Node = Statement | Expression | Member

/** Finds the declaration of a method in its class; undefined for one that the class was given later. */
export function findMethodDeclaration(name: string, owner: Callable): Declaration | undefined {
  return findClassDeclaration(owner)?.members.find((member) => member.name === name)
}

/** Parsing costs more than all else, and a class is asked for each of its methods. */
const classes = new WeakMap<Callable, ClassDeclaration | undefined>()

/** Finds the declaration of a class; undefined for a native one. */
export function findClassDeclaration(subject: Callable): ClassDeclaration | undefined {
  if (!classes.has(subject)) classes.set(subject, parseClass(subject))
  return classes.get(subject)
}

function parseClass(subject: Callable): ClassDeclaration | undefined {
  const location = locate(subject)
  const around = location ? nodesAround(location) : []
  const index = around.findLastIndex(isClass)
  const found = around[index]
  if (location === undefined || found === undefined || !isClass(found)) return undefined
  const members = found.body.body.filter(isMember)
  return {
    comment: outerComment(around.slice(0, index + 1)),
    members: members.map((member) => toMember(location.source, member)),
  }
}

/** Finds the declaration of a function, or of a method by its function; undefined for native code. */
export function findFunctionDeclaration(subject: Callable): Declaration | undefined {
  const location = locate(subject)
  const around = location ? nodesAround(location) : []
  const index = around.findLastIndex(isFunction)
  const found = around[index]
  if (location === undefined || found === undefined || !isFunction(found)) return undefined
  return {
    ...toSignature(location.source, found),
    name: subject.name,
    comment: outerComment(around.slice(0, index + 1)),
    accessibility: undefined,
  }
}

/** Reads the parameters from a function's own text, which has no types. */
export function parametersOf(subject: Callable): Parameter[] {
  const source = Function.prototype.toString.call(subject)
  for (const text of [`(class { ${source} })`, `(${source})`]) {
    const found = tryToParse(text)
    if (found) return toParameters(text, found)
  }
  // Native code, such as a bound function, has no readable parameters.
  return [{ text: '...args', isOptional: true, isRest: true }]
}

function tryToParse(text: string): FunctionNode | undefined {
  try {
    const [statement] = parse(text).program.body
    const expression = statement?.type === 'ExpressionStatement' ? statement.expression : undefined
    const node = expression?.type === 'ClassExpression' ? expression.body.body[0] : expression
    return node && isNode(node) && isFunction(node) ? node : undefined
  } catch {
    return undefined
  }
}

/** The nodes that contain the location, from the outermost to the innermost. */
function nodesAround({ source, line, column }: SourceLocation): Node[] {
  const { program } = parse(source, {
    sourceType: 'module',
    errorRecovery: true,
    plugins: ['typescript', 'decorators'],
  })
  return [...nodesWithin(program.body, { line, column })]
}

interface Position {
  line: number
  column: number
}

function* nodesWithin(value: unknown, position: Position): Generator<Node> {
  if (Array.isArray(value)) {
    for (const each of value) yield* nodesWithin(each, position)
  } else if (isNode(value) && contains(value, position)) {
    yield value
    for (const child of Object.values(value)) yield* nodesWithin(child, position)
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'loc' in value

function contains({ loc }: Node, { line, column }: Position): boolean {
  if (!loc) return false
  const { start, end } = loc
  const isAfterStart = start.line < line || (start.line === line && start.column <= column)
  return isAfterStart && (line < end.line || (line === end.line && column < end.column))
}

const isClass = (node: Node): node is Class =>
  node.type === 'ClassDeclaration' || node.type === 'ClassExpression'

const isFunction = (node: Node): node is FunctionNode => 'params' in node && 'body' in node

const isMember = (element: ClassElement): element is Member =>
  element.type === 'ClassMethod' || element.type === 'ClassProperty'

function toMember(source: string, member: Member): Declaration {
  const written = member.type === 'ClassMethod' ? member : member.value
  const signature =
    written && isFunction(written) ? toSignature(source, written) : { parameters: undefined, returns: '' }
  return {
    ...signature,
    name: memberName(member),
    comment: commentOf(member),
    accessibility: member.accessibility ?? undefined,
  }
}

function memberName({ key }: Member): string {
  if (key.type === 'Identifier') return key.name
  return key.type === 'StringLiteral' ? key.value : ''
}

function toSignature(source: string, node: FunctionNode): Pick<Declaration, 'parameters' | 'returns'> {
  const { returnType } = node
  const returns = returnType
    ? source.slice(returnType.start ?? 0, returnType.end ?? 0).replace(/^:\s*/, '')
    : ''
  return { parameters: toParameters(source, node), returns: onOneLine(returns) }
}

const toParameters = (source: string, { params }: FunctionNode): Parameter[] =>
  params.map((parameter) => toParameter(source, parameter))

function toParameter(source: string, parameter: FunctionNode['params'][number]): Parameter {
  return {
    text: onOneLine(source.slice(parameter.start ?? 0, parameter.end ?? 0)),
    isOptional:
      parameter.type === 'AssignmentPattern' ||
      parameter.type === 'RestElement' ||
      ('optional' in parameter && parameter.optional === true),
    isRest: parameter.type === 'RestElement',
  }
}

/** The comment of a declaration, or of the statement that declares and perhaps exports it. */
function outerComment(path: Node[]): string {
  const member = path.findLastIndex(({ type }) => /^(Class|Object)(Method|Property)$/.test(type))
  return commentOf(path.slice(Math.max(member, 0)).findLast(({ leadingComments }) => leadingComments))
}

function commentOf(node: Pick<Node, 'leadingComments'> | undefined): string {
  const comment = node?.leadingComments?.findLast(
    ({ type, value }) => type === 'CommentBlock' && value.startsWith('*'),
  )
  return withoutMarks(comment?.value.slice(1) ?? '')
}

const withoutMarks = (comment: string): string =>
  comment
    .split('\n')
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()

const onOneLine = (text: string): string => text.replaceAll(/\s+/g, ' ').trim()
