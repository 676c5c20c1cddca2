import { stripTypeScriptTypes } from 'node:module'
import { type ParseResult, parse } from '@babel/parser'

/** The names by which evaluated text reaches the session; not enumerable, so that nobody sees them. */
export const IMPORT = '__scriptify_import'
export const META = '__scriptify_meta'

/** How an input's value is shown: always, unless it is nothing, or never. */
export type Shows = 'value' | 'non-null' | 'nothing'

export interface Prepared {
  code: string
  shows: Shows
  /** Imports and declarations, as typed, for a worker that has to start anew. */
  declarations: string[]
}

type Program = ParseResult['program']
type TopLevel = Program['body'][number]
interface Edit {
  start: number
  end: number
  text: string
}

const ALWAYS_OPEN = new Set(['UnterminatedTemplate', 'UnterminatedComment', 'NoCatchOrFinally'])
const DECLARATIONS = new Set([
  'ImportDeclaration',
  'FunctionDeclaration',
  'ClassDeclaration',
  'TSEnumDeclaration',
  'TSInterfaceDeclaration',
  'TSTypeAliasDeclaration',
])

const parseProgram = (code: string) =>
  parse(code, {
    sourceType: 'module',
    allowReturnOutsideFunction: true,
    errorRecovery: true,
    plugins: ['typescript'],
  })

/** Tells whether the text needs more lines: whether the parser's first complaint is about the end. */
export function isIncomplete(code: string): boolean {
  const end = code.trimEnd().length
  try {
    const { program, errors } = parseProgram(code)
    return errors.some(isAlwaysOpen) || isHeaderWithoutBody(program, code)
  } catch (error) {
    if (!isParseError(error)) throw error
    if (error.reasonCode === 'UnterminatedString') return /\\\n*$/.test(code)
    return isAlwaysOpen(error) || (error.reasonCode !== 'UnterminatedRegExp' && error.pos >= end)
  }
}

/** `function f()` parses as an overload; at a prompt its body is still to come. */
function isHeaderWithoutBody({ body }: Program, code: string): boolean {
  return body.at(-1)?.type === 'TSDeclareFunction' && !code.trimEnd().endsWith(';')
}

/** Cuts a script into its top-level statements; undefined when it does not parse. */
export function splitStatements(code: string): { code: string; line: number }[] | undefined {
  try {
    const { program } = parseProgram(code)
    return [...program.directives, ...program.body].map((node) => ({
      code: code.slice(node.start ?? 0, node.end ?? 0),
      line: node.loc?.start.line ?? 1,
    }))
  } catch {
    return undefined
  }
}

/** Turns typed TypeScript into a script for the inspector's REPL mode; throws SyntaxError. */
export function prepare(typed: string): Prepared {
  const code = asExpressionIfObject(typed)
  const { program } = parseOrThrow(code)
  const rewritten = applyEdits(code, [...topLevelEdits(program, code), ...importEdits(program, code)])
  return {
    code: strip(rewritten),
    shows: howToShow(program, code),
    declarations: program.body
      .filter(isDeclaration)
      .map((node) => code.slice(node.start ?? 0, node.end ?? 0)),
  }
}

/** `{ a: 1 }` is an object to whoever types it, although the grammar says block. */
function asExpressionIfObject(code: string): string {
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
    if (!isParseError(error)) throw error
    throw new SyntaxError(error.message)
  }
}

const isDeclaration = (node: TopLevel): boolean =>
  DECLARATIONS.has(node.type) || (node.type === 'ExportNamedDeclaration' && node.declaration != null)

function howToShow({ body, directives }: Program, code: string): Shows {
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

/** The inspector evaluates scripts, which know neither `import` nor `export`. */
function topLevelEdits({ body }: Program, code: string): Edit[] {
  return body.flatMap((node): Edit[] => {
    const [start, end] = [node.start ?? 0, node.end ?? 0]
    if (node.type === 'ExportNamedDeclaration' && node.declaration) {
      return [{ start, end: node.declaration.start ?? start, text: '' }]
    }
    if (node.type !== 'ImportDeclaration') return []
    if (node.importKind === 'type') return [{ start, end, text: '' }]
    const module = `await ${IMPORT}(${JSON.stringify(node.source.value)})`
    const parts = node.specifiers.map((specifier) => {
      const local = specifier.local.name
      if (specifier.type === 'ImportDefaultSpecifier') return `default: ${local}`
      if (specifier.type === 'ImportNamespaceSpecifier') return undefined
      if (specifier.importKind === 'type') return ''
      return `${code.slice(specifier.imported.start ?? 0, specifier.imported.end ?? 0)}: ${local}`
    })
    const named = parts.filter((part) => part !== undefined && part !== '')
    const whole = node.specifiers.find((specifier) => specifier.type === 'ImportNamespaceSpecifier')
    const statements = [
      ...(whole ? [`const ${whole.local.name} = ${module}`] : []),
      ...(named.length > 0 ? [`const { ${named.join(', ')} } = ${module}`] : []),
    ]
    return [{ start, end, text: `${statements.join('; ') || module};` }]
  })
}

/** `import()` has no loader inside the inspector, and `import.meta` no module: both go to the session. */
function importEdits(program: Program, code: string): Edit[] {
  if (!/\bimport\b/.test(code)) return []
  const edits: Edit[] = []
  const visit = (node: unknown) => {
    if (typeof node !== 'object' || node === null) return
    if (Array.isArray(node)) return node.forEach(visit)
    const { type, start } = node as { type?: unknown; start?: unknown; end?: unknown }
    if (type === 'ImportExpression' && typeof start === 'number') {
      edits.push({ start, end: start + 'import'.length, text: IMPORT })
    }
    if (type === 'MetaProperty' && typeof start === 'number' && code.startsWith('import', start)) {
      edits.push({ start, end: Number((node as { end?: unknown }).end), text: META })
    }
    for (const [key, child] of Object.entries(node)) if (key !== 'loc') visit(child)
  }
  visit(program.body)
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

/** Erases the types in place, so that positions hold; enums and their like need the transform. */
function strip(code: string): string {
  try {
    return stripTypeScriptTypes(code, { mode: 'strip' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX') throw error
    return stripTypeScriptTypes(code, { mode: 'transform' })
  }
}

interface ParseFailure extends Error {
  reasonCode: string
  pos: number
}

const isParseError = (error: unknown): error is ParseFailure =>
  error instanceof SyntaxError && 'reasonCode' in error && 'pos' in error

const isAlwaysOpen = (error: unknown): boolean => isParseError(error) && ALWAYS_OPEN.has(error.reasonCode)
