import { type ParserPlugin, parse } from '@babel/parser'
import {
  type ArgumentReader,
  type DeclaredTypes,
  declaredTypes,
  readAnything,
  readerOf,
} from './argument-reader.ts'
import type { Callable } from './callable.ts'
import { locate, type SourceLocation } from './locate.ts'
import type { Node } from './syntax-node.ts'

/** The plugins of Babel's parser for TypeScript. */
export const PARSER_PLUGINS: ParserPlugin[] = ['typescript', 'decorators', 'decoratorAutoAccessors']

export interface Parameter {
  /** The source of the parameter, with its type and default. */
  text: string
  read: ArgumentReader
  isOptional: boolean
  isRest: boolean
}

/** What is written about a function or method. */
export interface Declaration {
  name: string
  /** The parameters; undefined for a property that is not a function expression. */
  parameters: Parameter[] | undefined
  /** The type as written, without the colon; empty if there is none. */
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

/** Finds the declaration of a method in its class; undefined for one that the class was given later. */
export function findMethodDeclaration(name: string, owner: Callable): Declaration | undefined {
  return findClassDeclaration(owner)?.members.find((member) => member.name === name)
}

/** The names of the members that TypeScript's `private` and `protected` keep from code outside a class. */
export function hiddenNamesOf(owner: Callable): string[] {
  const members = findClassDeclaration(owner)?.members ?? []
  return members
    .filter(({ accessibility }) => accessibility === 'private' || accessibility === 'protected')
    .map(({ name }) => name)
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
  const { around, types } = readSource(location)
  const index = around.findLastIndex(({ type }) => /^Class(Declaration|Expression)$/.test(type))
  if (location === undefined || index === -1) return undefined
  const members = around[index]?.body?.body ?? []
  return {
    comment: outerComment(around.slice(0, index + 1)),
    members: members
      .filter(({ type }) => /^Class(Method|Property|AccessorProperty)$/.test(type))
      .map((member) => toMember({ source: location.source, types }, member)),
  }
}

/** Finds the declaration of a function, or of a method by its function; undefined for native code. */
export function findFunctionDeclaration(subject: Callable): Declaration | undefined {
  const location = locate(subject)
  const { around, types } = readSource(location)
  const index = around.findLastIndex(isFunction)
  if (location === undefined || index === -1) return undefined
  return {
    name: subject.name,
    ...toSignature({ source: location.source, types }, around[index]),
    comment: outerComment(around.slice(0, index + 1)),
    accessibility: undefined,
  }
}

/** Reads the parameters from a function's own text, which has no types. */
export function parametersOf(subject: Callable): Parameter[] {
  const source = Function.prototype.toString.call(subject)
  for (const text of [`(class { ${source} })`, `(${source})`]) {
    const found = nodesOf(text)?.find(isFunction)
    if (found) return toParameters({ source: text, types: new Map() }, found)
  }
  // Native code, such as a bound function, has no readable parameters.
  return [{ text: '...args', read: readAnything, isOptional: true, isRest: true }]
}

/** A file's text, and the types that it declares. */
interface Source {
  source: string
  types: DeclaredTypes
}

/** The nodes that contain the location, from the outermost to the innermost, and the types of their file. */
function readSource(location: SourceLocation | undefined): { around: Node[]; types: DeclaredTypes } {
  if (location === undefined) return { around: [], types: new Map() }
  const { source, line, column } = location
  const { program } = parse(source, {
    sourceType: 'module',
    errorRecovery: true,
    plugins: PARSER_PLUGINS,
  })
  const contains = ({ loc: { start, end } }: Node) =>
    (start.line < line || (start.line === line && start.column <= column)) &&
    (line < end.line || (line === end.line && column < end.column))
  const statements: unknown[] = program.body
  return {
    around: [...nodesWithin(statements, contains)],
    types: declaredTypes(statements.filter(isNode)),
  }
}

/** All nodes of a text, from the outermost; undefined where it is not an expression. */
function nodesOf(text: string): Node[] | undefined {
  try {
    return [...nodesWithin(parse(text).program.body, () => true)]
  } catch {
    return undefined
  }
}

/** A node or list of nodes with all that it contains, from the outermost, as long as a node is wanted. */
export function* nodesWithin(value: unknown, isWanted: (node: Node) => boolean): Generator<Node> {
  // A list, because a recursive generator would pass each node through all levels above it.
  const pending = [value]
  while (pending.length > 0) {
    const next = pending.pop()
    let children: unknown[] = []
    if (Array.isArray(next)) children = next
    else if (isNode(next) && isWanted(next)) {
      yield next
      children = Object.values(next)
    }
    for (const child of children.toReversed()) pending.push(child)
  }
}

const isNode = (value: unknown): value is Node =>
  typeof value === 'object' && value !== null && 'type' in value && 'loc' in value

const isFunction = (node: Node): boolean => node.params !== undefined && node.body !== undefined

const toMember = (source: Source, member: Node): Declaration => ({
  name: member.key?.name ?? String(member.key?.value ?? ''),
  ...toSignature(source, member.type === 'ClassMethod' || !isNode(member.value) ? member : member.value),
  comment: commentOf(member),
  accessibility: member.accessibility,
})

function toSignature(source: Source, node: Node | undefined): Pick<Declaration, 'parameters' | 'returns'> {
  if (!node || !isFunction(node)) return { parameters: undefined, returns: '' }
  const returns = node.returnType ? textOf(source.source, node.returnType).replace(/^:\s*/, '') : ''
  return { parameters: toParameters(source, node), returns }
}

const toParameters = ({ source, types }: Source, { params = [] }: Node): Parameter[] =>
  // The first one may only say the type of `this`, which no argument gives.
  params
    .filter(({ type, name }) => type !== 'Identifier' || name !== 'this')
    .map((parameter) => ({
      text: textOf(source, parameter),
      read: readerOf(parameter, types),
      isOptional: /^(AssignmentPattern|RestElement)$/.test(parameter.type) || parameter.optional === true,
      isRest: parameter.type === 'RestElement',
    }))

const textOf = (source: string, { start, end }: Node): string =>
  source.slice(start, end).replaceAll(/\s+/g, ' ').trim()

/** The comment of a declaration, or of the statement that declares and perhaps exports it. */
function outerComment(path: Node[]): string {
  const member = path.findLastIndex(({ type }) => /^(Class|Object)(Method|Property)$/.test(type))
  return commentOf(path.slice(Math.max(member, 0)).findLast(({ leadingComments }) => leadingComments))
}

function commentOf(node: Node | undefined): string {
  const comment = node?.leadingComments?.findLast(
    ({ type, value }) => type === 'CommentBlock' && value.startsWith('*'),
  )
  const lines = (comment?.value.slice(1) ?? '').split('\n')
  return lines
    .map((line) => line.replace(/^\s*\* ?/, '').trimEnd())
    .join('\n')
    .trim()
}
