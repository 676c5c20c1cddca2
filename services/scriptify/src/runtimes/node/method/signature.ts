import { readFile } from 'node:fs/promises'
import { type ParseResult, parse } from '@babel/parser'
import type { Orders } from './orders.ts'

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

export interface Declaration extends Signature {
  accessibility: string | undefined
}

type Node = ParseResult['program']['body'][number]
type Class = Extract<Node, { type: 'ClassDeclaration' }>
type Method = Extract<Class['body']['body'][number], { type: 'ClassMethod' }>
type Function = Extract<Node, { type: 'FunctionDeclaration' }>
type Comments = Pick<Node, 'leadingComments'>

/** Reads parameters from the source of the module, with their types, else from the function itself. */
export async function readSignature(orders: Orders, method: globalThis.Function): Promise<Signature> {
  const declaration = findDeclaration(await readFile(orders.module, 'utf8'), orders)
  return declaration ?? { parameters: parametersOf(method), comment: '' }
}

/** Finds the declaration of a method or function; undefined for one that the module has from elsewhere. */
export function findDeclaration(
  source: string,
  { className, method }: Pick<Orders, 'className' | 'method'>,
): Declaration | undefined {
  for (const statement of parseModule(source).program.body) {
    const { declared, isDefault } = declarationOf(statement)
    if (declared?.type === 'ClassDeclaration' && className !== undefined) {
      const isIt = declared.id?.name === className || (isDefault && className === 'default')
      const found = isIt ? findMember(declared, method) : undefined
      if (found) return toDeclaration(source, found, found, found.accessibility ?? undefined)
    }
    if (declared?.type === 'FunctionDeclaration' && className === undefined) {
      const isIt = declared.id?.name === method || (isDefault && method === 'default')
      if (isIt) return toDeclaration(source, declared, statement, undefined)
    }
  }
  return undefined
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

function declarationOf(statement: Node): { declared: Node | undefined; isDefault: boolean } {
  if (statement.type === 'ExportNamedDeclaration') {
    return { declared: statement.declaration ?? undefined, isDefault: false }
  }
  if (statement.type === 'ExportDefaultDeclaration') {
    const { declaration } = statement
    const isOne = declaration.type === 'ClassDeclaration' || declaration.type === 'FunctionDeclaration'
    return { declared: isOne ? declaration : undefined, isDefault: true }
  }
  return { declared: statement, isDefault: false }
}

const findMember = (declared: Class, name: string): Method | undefined =>
  declared.body.body.find(
    (member): member is Method =>
      member.type === 'ClassMethod' && member.key.type === 'Identifier' && member.key.name === name,
  )

function toDeclaration(
  source: string,
  { params }: Pick<Method | Function, 'params'>,
  { leadingComments }: Comments,
  accessibility: string | undefined,
): Declaration {
  const comment = leadingComments?.findLast(
    ({ type, value }) => type === 'CommentBlock' && value.startsWith('*'),
  )
  return {
    parameters: params.map((parameter) => toParameter(source, parameter)),
    comment: withoutMarks(comment?.value.slice(1) ?? ''),
    accessibility,
  }
}

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
function parametersOf(method: globalThis.Function): Parameter[] {
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
