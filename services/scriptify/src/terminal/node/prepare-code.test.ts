import { Script } from 'node:vm'
import { expect, it } from 'vitest'
import { isIncomplete } from './parse-code.ts'
import { prepareCode } from './prepare-code.ts'

const sumOf = (terms: number): string => Array(terms).fill('1').join(' + ')

it.each([
  'let a: number = 1',
  'f<string[]>(1)',
  'a as string',
  'a!',
  'a satisfies string',
  'new Map<string, number>()',
  'type A = 1',
  'interface A {}',
  'enum A { B }',
  'namespace A { export const b = 1 }',
  'declare const a: 1',
  'declare function f()',
  'function f(a?) {}',
  'function f(this) {}',
  'function f(); function f(a) {}',
  'function f(a): a is string { return true }',
  'const f = <T,>(a) => a',
  'abstract class A {}',
  'class A<T> {}',
  'class A { private a = 1 }',
  'class A { readonly a = 1 }',
  'class A { declare a }',
  'class A { a? }',
  'class A { a!: string }',
  'class A { m(); m(a) {} }',
  'class A { [name: string]: unknown }',
  'class A { constructor(private a) {} }',
  'class A implements B {}',
  'class A extends Object { override toString() { return "" } }',
  'import type { A } from "a"',
  'import { type A } from "node:fs"',
  'for (const a of <any>b) {}',
])('makes JavaScript of %s', (typed) => {
  // As the inspector's REPL mode, which allows an await.
  expect(() => new Script(`(async () => {${prepareCode(typed).code}\n})`)).not.toThrow()
})

it.each(['a?.b?.(c)', 'a < b', 'class A { static #a = this }', 'label: for (;;) break label'])(
  'leaves %s as it is',
  (typed) => {
    expect(prepareCode(typed).code).toBe(typed)
  },
)

it('takes a sum of many terms', () => {
  const sum = sumOf(1_000)
  expect(prepareCode(sum).code).toBe(sum)
})

it('refuses a sum of more terms than the parser can take', () => {
  const sum = sumOf(100_000)
  expect(isIncomplete(sum)).toBe(false)
  expect(() => prepareCode(sum)).toThrow(new SyntaxError('The code is nested too deeply'))
})

it('refuses what only the parser of types recovers from', () => {
  expect(() => prepareCode('const a')).toThrow(SyntaxError)
})
