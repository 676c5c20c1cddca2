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
  id?: { name?: string } | null
  declaration?: Node | null
  key?: { name?: string; value?: unknown }
  value?: unknown
  optional?: boolean
  accessibility?: string
  // This belongs to a variable.
  init?: Node | null
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

interface Position {
  line: number
  column: number
}
