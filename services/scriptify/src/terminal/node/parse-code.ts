import { type ParseResult, parse } from '@babel/parser'
import { PARSER_PLUGINS } from '../../classes/node/declaration.ts'

export type Program = ParseResult['program']

const ALWAYS_OPEN = new Set(['UnterminatedTemplate', 'UnterminatedComment', 'NoCatchOrFinally'])

export function parseProgram(code: string): ParseResult {
  return parse(code, {
    sourceType: 'module',
    allowReturnOutsideFunction: true,
    errorRecovery: true,
    plugins: PARSER_PLUGINS,
  })
}

/** True where the text needs more lines: the parser's first error is at its end. */
export function isIncomplete(code: string): boolean {
  const end = code.trimEnd().length
  try {
    const { program, errors } = parseProgram(code)
    return errors.some(isAlwaysOpen) || endsWithHeader(program, code)
  } catch (error) {
    // Its evaluation reports it.
    if (!isParseError(error)) return false
    if (error.reasonCode === 'UnterminatedString') return /\\\n*$/.test(code)
    return isAlwaysOpen(error) || (error.reasonCode !== 'UnterminatedRegExp' && error.pos >= end)
  }
}

/** `function f()` parses as an overload; at a prompt its body is still to come. */
function endsWithHeader({ body }: Program, code: string): boolean {
  return body.at(-1)?.type === 'TSDeclareFunction' && !code.trimEnd().endsWith(';')
}

interface ParseError extends Error {
  reasonCode: string
  pos: number
}

export const isParseError = (error: unknown): error is ParseError =>
  error instanceof SyntaxError && 'reasonCode' in error && 'pos' in error

const isAlwaysOpen = (error: unknown): boolean => isParseError(error) && ALWAYS_OPEN.has(error.reasonCode)
