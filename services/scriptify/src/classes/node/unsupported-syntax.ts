import { parse } from '@babel/parser'
import { nodesWithin, PARSER_PLUGINS } from './declaration.ts'

const UNSUPPORTED: Record<string, string> = {
  Decorator: 'a decorator',
  ClassAccessorProperty: 'an accessor field',
}

/** The first line of a text with syntax that Node can neither run nor translate; undefined where there is none. */
export function findUnsupported(source: string): { line: number; what: string } | undefined {
  if (!/@|\baccessor\b/.test(source)) return undefined
  const { program } = parse(source, { sourceType: 'module', errorRecovery: true, plugins: PARSER_PLUGINS })
  for (const { type, loc } of nodesWithin(program.body, () => true)) {
    const what = UNSUPPORTED[type]
    if (what !== undefined) return { line: loc.start.line, what }
  }
  return undefined
}
