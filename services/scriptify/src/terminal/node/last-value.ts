import { parseProgram } from './parse-code.ts'
import { asExpressionIfObject, howToShow, type Shows } from './prepare-code.ts'

/** A script whose default export is the value of its last statement, where that is an expression to show. */
export function exportLastValue(script: string): { code: string; shows: Shows } {
  const code = asExpressionIfObject(script)
  const program = tryToParse(code)
  const last = program?.body.at(-1) ?? program?.directives.at(-1)
  const shows = program === undefined ? 'nothing' : howToShow(program, code)
  if (last === undefined || shows === 'nothing') return { code, shows: 'nothing' }
  const [start, end] = [last.start ?? 0, last.end ?? 0]
  const expression = code.slice(start, end).replace(/;$/, '')
  return { code: `${code.slice(0, start)}export default (${expression}\n)${code.slice(end)}`, shows }
}

/** Undefined for a script that does not parse, or has a default export of its own. */
function tryToParse(code: string) {
  try {
    const { program, errors } = parseProgram(code)
    const hasDefault = program.body.some(({ type }) => type === 'ExportDefaultDeclaration')
    return errors.length > 0 || hasDefault ? undefined : program
  } catch {
    // Node tells what is wrong.
    return undefined
  }
}
