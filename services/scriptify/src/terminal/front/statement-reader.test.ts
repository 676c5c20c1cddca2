import { expect, it } from 'vitest'
import { isExitCommand } from './statement-reader.ts'

it.each(['exit', 'quit', 'die', 'exit;', 'exit()', ' exit( ) ; '])('leaves at %j', (entry) => {
  expect(isExitCommand(entry)).toBe(true)
})

it.each(['exit(1)', 'exits', 'exit 1', 'quit; 1', 'die()()'])('evaluates %j', (entry) => {
  expect(isExitCommand(entry)).toBe(false)
})
