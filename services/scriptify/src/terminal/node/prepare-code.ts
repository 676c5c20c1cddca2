import { stripTypeScriptTypes } from 'node:module'
import type { ParseResult } from '@babel/parser'
import { nodesWithin } from '../../classes/node/declaration.ts'
import { INSTALL_TSX } from '../../classes/node/project-syntax.ts'
import { findUnsupported } from '../../classes/node/unsupported-syntax.ts'
import { errorCode } from '../../io/cli-error.ts'
import { isParseError, type Program, parseProgram } from './parse-code.ts'
import { IMPORT, META } from './session-globals.ts'

/** `value` always shows a statement's value, `non-null` shows it unless it is null or undefined, `nothing` never shows it. */
export type Shows = 'value' | 'non-null' | 'nothing'

export interface PreparedCode {
  code: string
  shows: Shows
  /** Imports and declarations, as typed, for a new worker. */
  declarations: string[]
}

type TopLevel = Program['body'][number]
type Import = Extract<TopLevel, { type: 'ImportDeclaration' }>
interface Edit {
  start: number
  end: number
  text: string
}

const DECLARATIONS = new Set([
  'ImportDeclaration',
  'FunctionDeclaration',
  'ClassDeclaration',
  'TSEnumDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
])

/** Turns typed TypeScript into a script for the inspector's REPL mode; throws SyntaxError. */
export function prepareCode(typed: string): PreparedCode {
  const code = asExpressionIfObject(typed)
  const { program } = parseOrThrow(code)
  const unsupported = findUnsupported(code)
  if (unsupported !== undefined) {
    throw new SyntaxError(
      `Node does not run ${unsupported.what} (line ${unsupported.line}): import the class from a file, and ${INSTALL_TSX}`,
    )
  }
  const rewritten = applyEdits(code, [...topLevelEdits(program, code), ...importEdits(program, code)])
  return {
    code: strip(rewritten),
    shows: howToShow(program, code),
    declarations: program.body
      .filter(isDeclaration)
      .map((node) => code.slice(node.start ?? 0, node.end ?? 0)),
  }
}

/** Wraps `{ a: 1 }` in parentheses: at a prompt it is meant as an object, although the grammar says block. */
export function asExpressionIfObject(code: string): string {
  if (!/^\s*\{[\s\S]*\}\s*$/.test(code)) return code
  try {
    return parseProgram(`(${code})`).errors.length === 0 ? `(${code})` : code
  } catch {
    return code
  }
}

function parseOrThrow(code: string): ParseResult {
  try {
    return parseProgram(code)
  } catch (error) {
    // The parser calls itself for each level.
    if (error instanceof RangeError) throw new SyntaxError('The code is nested too deeply')
    if (!isParseError(error)) throw error
    throw new SyntaxError(error.message)
  }
}

const isDeclaration = (node: TopLevel): boolean =>
  DECLARATIONS.has(node.type) || (node.type === 'ExportNamedDeclaration' && node.declaration != null)

export function howToShow({ body, directives }: Program, code: string): Shows {
  if (/;\s*;\s*$/.test(code)) return 'nothing'
  const last = body.at(-1)
  if (last === undefined) return directives.length > 0 ? 'value' : 'nothing'
  if (last.type !== 'ExpressionStatement') return 'nothing'
  const { expression } = last
  if (expression.type === 'AssignmentExpression' && code.trimEnd().endsWith(';')) return 'nothing'
  const called = expression.type === 'AwaitExpression' ? expression.argument : expression
  const isCall = ['CallExpression', 'OptionalCallExpression'].includes(called.type) || called !== expression
  return isCall ? 'non-null' : 'value'
}

/** The inspector evaluates scripts, which have neither `import` nor `export` statements. */
function topLevelEdits({ body }: Program, code: string): Edit[] {
  return body.flatMap((node): Edit[] => {
    const [start, end] = [node.start ?? 0, node.end ?? 0]
    if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      return [{ start, end: node.declaration.start ?? start, text: '' }]
    }
    if (node.type !== 'ImportDeclaration') return []
    if (node.importKind === 'type') return [{ start, end, text: '' }]
    return [{ start, end, text: toAwaitedImport(node, code) }]
  })
}

function toAwaitedImport({ source, specifiers, attributes }: Import, code: string): string {
  const first = attributes?.[0]
  const list = code.slice(first?.start ?? 0, attributes?.at(-1)?.end ?? 0)
  const options = first === undefined ? '' : `, { with: { ${list} } }`
  const module = `await ${IMPORT}(${JSON.stringify(source.value)}${options})`
  const names = specifiers.flatMap((specifier) => {
    const local = specifier.local.name
    if (specifier.type === 'ImportDefaultSpecifier') return [`default: ${local}`]
    if (specifier.type === 'ImportNamespaceSpecifier' || specifier.importKind === 'type') return []
    return [`${code.slice(specifier.imported.start ?? 0, specifier.imported.end ?? 0)}: ${local}`]
  })
  const namespace = specifiers.find(({ type }) => type === 'ImportNamespaceSpecifier')
  const statements = [
    ...(namespace ? [`const ${namespace.local.name} = ${module}`] : []),
    ...(names.length > 0 ? [`const { ${names.join(', ')} } = ${module}`] : []),
  ]
  return `${statements.join('; ') || module};`
}

/** In the inspector `import()` has no loader and `import.meta` no module: both are replaced by the session's. */
function importEdits(program: Program, code: string): Edit[] {
  if (!/\bimport\b/.test(code)) return []
  const edits: Edit[] = []
  for (const { type, start, end } of nodesWithin(program.body, () => true)) {
    if (type === 'ImportExpression') edits.push({ start, end: start + 'import'.length, text: IMPORT })
    // The other one is `new.target`.
    if (type === 'MetaProperty' && code.startsWith('import', start)) edits.push({ start, end, text: META })
  }
  return edits
}

function applyEdits(code: string, edits: Edit[]): string {
  return edits
    .toSorted((one, other) => other.start - one.start)
    .reduce(
      (text, { start, end, text: replacement }) => text.slice(0, start) + replacement + text.slice(end),
      code,
    )
}

/** Erases the types in place, which keeps positions; enums and namespaces need the transform. */
function strip(code: string): string {
  try {
    return stripTypeScriptTypes(code, { mode: 'strip' })
  } catch (error) {
    if (errorCode(error) !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error
    return stripTypeScriptTypes(code, { mode: 'transform' })
  }
}
