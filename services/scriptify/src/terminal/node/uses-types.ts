import type { Program } from './parse-code.ts'

/** What the parser notes on a node for a keyword or mark that only TypeScript has. */
const MARKS = ['abstract', 'accessibility', 'declare', 'definite', 'override', 'readonly']

/** Tells whether the program has anything that is TypeScript and not JavaScript. */
export function usesTypes({ body }: Program): boolean {
  // Not recursive: a long sum is a deep tree.
  const open: unknown[] = [body]
  while (open.length > 0) {
    const node = open.pop()
    if (typeof node !== 'object' || node === null) continue
    if (isOfTypeScript(node)) return true
    for (const child of Object.values(node)) open.push(child)
  }
  return false
}

function isOfTypeScript(node: object): boolean {
  const field = (name: string): unknown => Reflect.get(node, name)
  const type = String(field('type'))
  return (
    type.startsWith('TS') ||
    MARKS.some(field) ||
    field('importKind') === 'type' ||
    field('exportKind') === 'type' ||
    (field('optional') === true && !type.startsWith('Optional')) ||
    // The parameter that declares the type of `this`; the expression is a ThisExpression.
    (type === 'Identifier' && field('name') === 'this')
  )
}
