import type { SourceLocation } from './locate.ts'

/** A node of Babel's syntax tree, as far as it is read here. */
export interface Node {
  type: string
  start: number
  end: number
  name?: string
  loc: { start: Position; end: Position }
  leadingComments?: { type: string; value: string }[]
  body?: { body?: Node[]; members?: Node[] }
  params?: Node[]
  returnType?: Node | null
  id?: { name?: string } | null
  declaration?: Node | null
  key?: { name?: string; value?: unknown }
  value?: unknown
  optional?: boolean
  accessibility?: string
  // These belong to a parameter.
  left?: Node
  right?: Node
  argument?: Node
  // These belong to a type.
  typeAnnotation?: Node | null
  typeName?: { name?: string }
  typeArguments?: { params?: Node[] } | null
  elementType?: Node
  types?: Node[]
  literal?: Node
  operator?: string
  // This belongs to a member of an enum.
  initializer?: Node | null
}

type Position = Pick<SourceLocation, 'line' | 'column'>
