import { isSameNumber, parseExactJson } from '../../io/exact-json.ts'
import { isRecord } from '../../io/json-object.ts'
import type { Node } from './syntax-node.ts'

/** Returns the value that an argument stands for, or nothing where it does not fit. A text is parsed; a value of JSON is checked. */
export interface ArgumentReader {
  (argument: unknown): [value: unknown] | []
  /** The texts that fit, where these can be listed. */
  readonly choices?: readonly string[]
}

/** The types that a file declares, by their names. */
export type DeclaredTypes = ReadonlyMap<string, Node>

/** Accepts every value, and returns a text as it is: for parameters whose type is unknown, such as an imported one. */
export const readAnything: ArgumentReader = (argument) => [argument]

const check = (fits: boolean, value: unknown): [unknown] | [] => (fits ? [value] : [])

const readText: ArgumentReader = (argument) => check(typeof argument === 'string', argument)

const readNumber: ArgumentReader = (argument) => {
  const isWritten = typeof argument === 'string' && argument.trim() !== '' && isSameNumber(argument)
  return check(isWritten || typeof argument === 'number', Number(argument))
}

const readBigint: ArgumentReader = (argument) =>
  /^[+-]?\d+$/.test(String(argument)) ? [BigInt(String(argument))] : []

const BOOLEANS: Record<string, boolean> = { true: true, '1': true, false: false, '0': false }
const readBoolean: ArgumentReader = (argument) => {
  const value = typeof argument === 'string' ? BOOLEANS[argument.toLowerCase()] : argument
  return check(typeof value === 'boolean', value)
}

const readDate: ArgumentReader = (argument) => {
  const text = typeof argument === 'string' ? argument : ''
  const date = new Date(text)
  return check(!Number.isNaN(date.getTime()) && hasItsDay(text), date)
}

/** JavaScript reads 31 February as 3 March: the day and the month of the date have to be among the numbers in the text. */
function hasItsDay(text: string): boolean {
  const day = text.replace(/[T ]\d{1,2}:\S*/, ' ').trim()
  if (!/\b(29|30|31)\b/.test(day)) return true
  const numbers = (day.match(/\d+/g) ?? []).map(Number)
  const date = new Date(day)
  // A date without a time is one of UTC or of this zone, depending on its form.
  return [[date.getUTCDate(), date.getUTCMonth()] as const, [date.getDate(), date.getMonth()] as const].some(
    ([ofMonth, month]) => numbers.includes(ofMonth) && (/[a-z]{3}/i.test(day) || numbers.includes(month + 1)),
  )
}

const readJson =
  (fits: (value: unknown) => boolean): ArgumentReader =>
  (argument) => {
    try {
      const value = typeof argument === 'string' ? parseExactJson(argument) : argument
      return check(fits(value), value)
    } catch {
      return []
    }
  }

function readExactly(value: unknown, text = String(value)): ArgumentReader {
  const read = (argument: unknown) => check(argument === value || argument === text, value)
  return Object.assign(read, { choices: [text] })
}

/** Reads by the first reader that fits; a text stays a text where a string is allowed. */
function readFirst(readers: readonly ArgumentReader[]): ArgumentReader {
  const ordered = readers.includes(readText) ? [readText, ...readers] : readers
  const readAny = (argument: unknown): ReturnType<ArgumentReader> => {
    for (const read of ordered) {
      const found = read(argument)
      if (found.length > 0) return found
    }
    return []
  }
  return readers.every(({ choices }) => choices !== undefined)
    ? Object.assign(readAny, { choices: readers.flatMap(({ choices = [] }) => choices) })
    : readAny
}

const readObject = readJson(isRecord)
const readArray = readJson(Array.isArray)
const readNothing: ArgumentReader = () => []

const BY_KIND: Record<string, ArgumentReader> = {
  TSStringKeyword: readText,
  TSTemplateLiteralType: readText,
  TSNumberKeyword: readNumber,
  TSBigIntKeyword: readBigint,
  TSBooleanKeyword: readBoolean,
  TSNullKeyword: readExactly(null),
  TSUndefinedKeyword: readExactly(undefined),
  TSArrayType: readArray,
  TSTupleType: readArray,
  TSObjectKeyword: readJson((value) => typeof value === 'object' && value !== null),
  TSTypeLiteral: readObject,
  TSMappedType: readObject,
  TSInterfaceDeclaration: readObject,
  TSFunctionType: readNothing,
  TSSymbolKeyword: readNothing,
  ClassDeclaration: readNothing,
}

const BY_NAME: Record<string, ArgumentReader> = {
  Date: readDate,
  Array: readArray,
  ReadonlyArray: readArray,
  Record: readObject,
  Partial: readObject,
  Required: readObject,
  Pick: readObject,
  Omit: readObject,
  Map: readNothing,
  Set: readNothing,
  Function: readNothing,
  Buffer: readNothing,
  Uint8Array: readNothing,
}

/** Returns the reader for a parameter's arguments: by its type, else by the type of its default. */
export function readerOf(parameter: Node, declared: DeclaredTypes): ArgumentReader {
  const { type, left, right, typeAnnotation } = parameter
  if (type === 'AssignmentPattern' && left !== undefined) {
    return left.typeAnnotation ? readerOf(left, declared) : readerOfDefault(right)
  }
  const annotation = typeAnnotation?.typeAnnotation ?? undefined
  return type === 'RestElement' ? readerOfElements(annotation, declared) : readerOfType(annotation, declared)
}

function readerOfDefault(value: Node | undefined): ArgumentReader {
  if (value?.type === 'UnaryExpression' && value.operator === '-') return readerOfDefault(value.argument)
  const byLiteral: Record<string, ArgumentReader> = {
    NumericLiteral: readNumber,
    BooleanLiteral: readBoolean,
    StringLiteral: readText,
  }
  return byLiteral[value?.type ?? ''] ?? readAnything
}

function readerOfElements(type: Node | undefined, declared: DeclaredTypes): ArgumentReader {
  const named = /^(Readonly)?Array$/.test(type?.typeName?.name ?? '')
    ? type?.typeArguments?.params?.[0]
    : undefined
  return readerOfType(type?.elementType ?? named, declared)
}

function readerOfType(type: Node | undefined, declared: DeclaredTypes): ArgumentReader {
  if (type === undefined) return readAnything
  switch (type.type) {
    case 'TSParenthesizedType':
      return readerOfType(type.typeAnnotation ?? undefined, declared)
    case 'TSTypeOperator':
      return type.operator === 'keyof'
        ? readAnything
        : readerOfType(type.typeAnnotation ?? undefined, declared)
    case 'TSTypeAliasDeclaration':
      return readerOfType(type.typeAnnotation ?? undefined, without(declared, type))
    case 'TSEnumDeclaration':
      return readerOfEnum(type.body?.members ?? [])
    case 'TSUnionType':
      return readFirst((type.types ?? []).map((member) => readerOfType(member, declared)))
    case 'TSIntersectionType':
      return readerOfIntersection(type.types ?? [], declared)
    case 'TSLiteralType':
      return readerOfLiteral(type.literal)
    case 'TSTypeReference':
      return readerOfReference(type, declared)
    default:
      return BY_KIND[type.type] ?? readAnything
  }
}

/** Takes one of an enum's values, or the name of a member without a value; every value where one is computed. */
function readerOfEnum(members: readonly Node[]): ArgumentReader {
  let next = 0
  const readers = members.map(({ id, initializer }): ArgumentReader => {
    if (!initializer) {
      const value = next++
      const read = (argument: unknown) =>
        check([value, `${value}`, id?.name].includes(argument as string), value)
      return Object.assign(read, { choices: [id?.name ?? `${value}`] })
    }
    const { type, value } = initializer
    if (type === 'NumericLiteral') next = Number(value) + 1
    return /^(String|Numeric)Literal$/.test(type) ? readExactly(value) : readAnything
  })
  return readFirst(readers)
}

/** A type may be branded by an object, as in `string & { brand: 'id' }`. */
const readerOfIntersection = (members: readonly Node[], declared: DeclaredTypes): ArgumentReader =>
  members.map((member) => readerOfType(member, declared)).find((reader) => reader !== readObject) ??
  readObject

function readerOfReference({ typeName, typeArguments }: Node, declared: DeclaredTypes): ArgumentReader {
  const name = typeName?.name ?? ''
  const declaration = declared.get(name)
  if (declaration !== undefined) return readerOfType(declaration, declared)
  if (name === 'Readonly') return readerOfType(typeArguments?.params?.[0], declared)
  return (Object.hasOwn(BY_NAME, name) && BY_NAME[name]) || readAnything
}

function readerOfLiteral(literal: Node | undefined): ArgumentReader {
  if (literal?.type === 'UnaryExpression') return readExactly(-Number(literal.argument?.value))
  return literal?.type === 'TemplateLiteral' ? readText : readExactly(literal?.value)
}

/** An alias may name itself, as a tree does. */
const without = (declared: DeclaredTypes, { id }: Node): DeclaredTypes =>
  new Map([...declared].filter(([name]) => name !== id?.name))

/** The types that the statements of a file declare, exported or not. */
export const declaredTypes = (statements: readonly Node[]): DeclaredTypes =>
  new Map(
    statements
      .map((statement) => statement.declaration ?? statement)
      .filter(({ type }) => /^(TSTypeAlias|TSInterface|TSEnum|Class)Declaration$/.test(type))
      // A class that is exported by default needs no name.
      .flatMap((declaration) => (declaration.id?.name ? [[declaration.id.name, declaration] as const] : [])),
  )
