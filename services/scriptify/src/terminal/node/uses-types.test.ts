import { expect, it } from 'vitest'
import { parseProgram } from './parse-code.ts'
import { usesTypes } from './uses-types.ts'

it('looks at a tree as deep as a parser can build it', () => {
  let tree: object = { type: 'TSNumberKeyword' }
  for (let level = 0; level < 100_000; level++) tree = { type: 'BinaryExpression', left: tree }
  const { program } = parseProgram('')
  expect(usesTypes(Object.assign(program, { body: [tree] }))).toBe(true)
})
