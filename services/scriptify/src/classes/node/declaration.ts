import { readFileSync } from 'node:fs'
import { type ParserPlugin, parse } from '@babel/parser'
import {
  type ArgumentReader,
  type DeclaredTypes,
  declaredTypes,
  readAnything,
  readerOf,
} from './argument-reader.ts'
import type { Callable } from './callable.ts'
import { filesFrom } from './imported-files.ts'
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

/** The declaration of a function or method, as it is written. */
export interface Declaration {
  /** The parameters; undefined for a property that is not a function expression. */
  parameters: Parameter[] | undefined
  /** The doc comment without its marks; empty if there is none. */
  comment: string
}

interface Member extends Declaration {
  name: string
  /** TypeScript's modifier, if there is one. */
  accessibility: string | undefined
}

/** Finds a method in the class of that name, which the module or one that it imports declares. */
export const findMethodDeclaration = (
  method: string,
  { className, module }: { className: string; module: string },
): Member | undefined => findMembers(className, module).find(({ name }) => name === method)

/** Parsing costs more than all else, and a class is asked for each of its methods. */
const members = new Map<string, Member[]>()

function findMembers(className: string, module: string): Member[] {
  const key = `${module}#${className}`
  const found = members.get(key) ?? parseMembers(className, module)
  members.set(key, found)
  return found
}

function parseMembers(className: string, module: string): Member[] {
  const found = findNamed(className, module, ({ type }) => /^Class(Declaration|Expression)$/.test(type))
  return (found?.around.at(-1)?.body?.body ?? [])
    .filter(({ type }) => /^Class(Method|Property|AccessorProperty)$/.test(type))
    .map((member) => toMember(found as Source, member))
}

/** Finds the declaration of a function of that name, which the module or one that it imports declares. */
export function findFunctionDeclaration(name: string, module: string): Declaration | undefined {
  const found = findNamed(name, module, isFunction)
  return (
    found && { parameters: toParameters(found, found.around.at(-1)), comment: outerComment(found.around) }
  )
}

/** Reads the parameters from a function's own text, which has no types. */
export function parametersOf(subject: Callable): Parameter[] {
  const source = Function.prototype.toString.call(subject)
  for (const text of [`(class { ${source} })`, `(${source})`]) {
    const found = toParameters({ source: text, types: new Map() }, nodesOf(text)?.find(isFunction))
    if (found) return found
  }
  // Native code, such as a bound function, has no readable parameters.
  return [{ text: '...args', read: readAnything, isOptional: true, isRest: true }]
}

/** A file's text, and the types that it declares. */
interface Source {
  source: string
  types: DeclaredTypes
}

/** A node, last, below those that contain it, from the outermost. */
interface Found extends Source {
  around: Node[]
}

/** Finds what is declared by a name, `default` for what has none, in the nearest of the module and those that it imports. */
function findNamed(name: string, module: string, isWanted: (node: Node) => boolean): Found | undefined {
  for (const file of filesFrom(module)) {
    const source = readFileSync(file, 'utf8')
    if (!source.includes(name)) continue
    const { program } = parse(source, { sourceType: 'module', errorRecovery: true, plugins: PARSER_PLUGINS })
    const statements: unknown[] = program.body
    for (const node of nodesWithin(statements, () => true)) {
      const found = namedBy(node, name)
      if (found === undefined || !isWanted(found)) continue
      const contains = ({ start, end }: Node) => start <= found.start && found.end <= end
      const around = [...nodesWithin(statements, contains)]
      const types = declaredTypes(statements.filter(isNode))
      return { source, types, around: around.slice(0, around.indexOf(found) + 1) }
    }
  }
  return undefined
}

/** Returns what a node declares, if it declares this name. */
function namedBy(node: Node, name: string): Node | undefined {
  if (node.type === 'ExportDefaultDeclaration')
    return name === 'default' && !node.declaration?.id ? (node.declaration ?? undefined) : undefined
  if (node.id?.name !== name) return undefined
  return node.type === 'VariableDeclarator' ? (node.init ?? undefined) : node
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

const toMember = (source: Source, member: Node): Member => ({
  name: member.key?.name ?? String(member.key?.value ?? ''),
  parameters: toParameters(source, isNode(member.value) ? member.value : member),
  comment: commentOf(member),
  accessibility: member.accessibility,
})

/** The parameters of a function; undefined for another node. */
function toParameters({ source, types }: Source, node: Node | undefined): Parameter[] | undefined {
  if (node === undefined || !isFunction(node)) return undefined
  return (
    (node.params ?? [])
      // The first one may only say the type of `this`, which no argument gives.
      .filter(({ type, name }) => type !== 'Identifier' || name !== 'this')
      .map((parameter) => ({
        text: textOf(source, parameter),
        read: readerOf(parameter, types),
        isOptional: /^(AssignmentPattern|RestElement)$/.test(parameter.type) || parameter.optional === true,
        isRest: parameter.type === 'RestElement',
      }))
  )
}

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
